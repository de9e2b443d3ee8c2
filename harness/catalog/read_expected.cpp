// Expected values. What can be said of one record alone is checked here: units, dates, and floor < typical <= ceiling.
#include <fmt/format.h>

#include <tuple>

#include "harness/catalog/parts.h"
#include "harness/judge/unit.h"
#include "harness/result/metrics.h"

namespace claimcheck::catalog_parts {
namespace {

// The unit that the last word of a metric key stands for.
std::string_view unit_of_key(std::string_view metric) {
  if (metric.starts_with("network.")) return "Gb/s";  // line rates are quoted in bits
  const std::string_view last = metric.substr(metric.rfind('.') + 1);
  if (last == "gbps") return "GB/s";
  if (last == "tflops") return "TFLOPS";
  if (last == "tops") return "TOPS";
  if (last == "iops") return "IOPS";
  if (last == "us") return "us";
  return last == "efficiency" ? "1" : "";
}

void check_unit(const Record& record, const Expected& expected) {
  if (!is_metric_key(expected.metric)) {
    record.fail("metric", fmt::format("\"{}\" is no metric key; expected lower-case words joined by dots, such as "
                                      "memory.triad.gbps",
                                      expected.metric));
  }
  if (find_unit(expected.unit) != expected.unit) {
    const std::string_view known = find_unit(expected.unit);
    record.fail("unit", known.empty() ? fmt::format("unknown unit \"{}\"; expected GB/s, Gb/s, TFLOPS, TOPS, IOPS, us, "
                                                    "s or 1",
                                                    expected.unit)
                                      : fmt::format(R"("{}" is written "{}")", expected.unit, known));
  }
  const std::string_view wanted = unit_of_key(expected.metric);
  if (!wanted.empty() && wanted != expected.unit) {
    record.fail("unit", fmt::format("\"{}\"; {} is in {}", expected.unit, expected.metric, wanted));
  }
}

void check_order(const Record& record, const Expected& expected) {
  const auto wrong = [&](const char* field, const char* low, double lower, const char* high, double higher) {
    record.fail(field,
                fmt::format("{} {} against {} {}; expected floor < typical <= ceiling", low, lower, high, higher));
  };
  const auto& [floor, typical, ceiling] = std::tie(expected.floor, expected.typical, expected.ceiling);
  if (!floor && !typical) record.fail("typical", "neither a floor nor a typical value");
  if (floor && typical && *floor >= *typical) wrong("floor", "floor", *floor, "typical", *typical);
  if (typical && ceiling && *typical > *ceiling) wrong("ceiling", "typical", *typical, "ceiling", *ceiling);
  if (floor && ceiling && *floor >= *ceiling) wrong("ceiling", "floor", *floor, "ceiling", *ceiling);
}

}  // namespace

Expected read_expected(const nlohmann::json& value, const std::string& file, const std::string& pointer) {
  const Record record(
      value, file, pointer,
      {"id", "kind", "platform", "accelerator", "metric", "unit", "floor", "typical", "ceiling", "range", "conditions",
       "method", "date", "undated", "outlier", "disputed", "unusable", "note", "source"});
  Expected expected;
  expected.id = record.text("id");
  expected.kind = record.word("kind", {"measured", "vendor_threshold"});
  expected.platform = record.optional_text("platform");
  expected.accelerator = record.text("accelerator");
  expected.metric = record.text("metric");
  expected.unit = record.text("unit");
  expected.floor = record.number("floor");
  expected.typical = record.number("typical");
  expected.ceiling = record.number("ceiling");
  expected.conditions = record.object("conditions");
  expected.method = record.text("method");
  expected.date = record.date();
  expected.note = record.optional_text("note");
  expected.outlier = record.optional_text("outlier");
  expected.disputed = record.optional_text("disputed");
  expected.unusable = record.optional_text("unusable");
  expected.sources = record.sources();
  expected.place = record.place();
  check_unit(record, expected);
  check_order(record, expected);
  return expected;
}

}  // namespace claimcheck::catalog_parts

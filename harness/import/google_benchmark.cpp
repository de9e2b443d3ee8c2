// Google Benchmark's JSON: our own workers' (a counter is named like the metric it is) and anybody's who names a
// counter so. What a benchmark of another name measures cannot be known; it is said, not guessed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/result/metrics.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

// Seconds of one unit of time; unset when it is unknown.
std::optional<double> seconds_of(const std::string& unit) {
  if (unit == "ns" || unit.empty()) return 1e-9;
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  return unit == "s" ? std::optional(1.0) : std::nullopt;
}

// "gemm/n:4096/repeats:3/manual_time" without what the library itself appends.
std::string id_of(const json& entry) {
  std::string name = text_of(entry, "run_name");
  if (name.empty()) name = text_of(entry, "name");
  for (const char* suffix :
       {"/repeats:", "/iterations:", "/min_time:", "/min_warmup_time:", "/real_time", "/manual_time", "/process_time"})
    if (const std::size_t at = name.find(suffix); at != std::string::npos) {
      const std::size_t end = name.find('/', at + 1);
      name.erase(at, end == std::string::npos ? end : end - at);
    }
  return name;
}

// "name:value" parts of a name are its conditions.
json conditions_of(const std::string& id) {
  json made = {{"method", "Google Benchmark"}};
  std::size_t at = id.find('/');
  while (at != std::string::npos) {
    const std::size_t end = id.find('/', at + 1);
    const std::string part = id.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    const std::size_t colon = part.find(':');
    if (colon != std::string::npos && colon > 0) {
      const auto value = number(std::string_view(part).substr(colon + 1));
      if (value)
        made[part.substr(0, colon)] = *value;
      else
        made[part.substr(0, colon)] = part.substr(colon + 1);
    }
    at = end;
  }
  return made;
}

class GoogleBenchmark {
 public:
  GoogleBenchmark(Collected& collected, const json& document) : collected_(collected), document_(document) {}

  bool read() {
    const auto list = document_.find("benchmarks");
    const auto context = document_.find("context");
    if (list == document_.end() || !list->is_array() || context == document_.end() || !context->is_object())
      return false;
    has_iterations_ = std::any_of(list->begin(), list->end(), [](const json& entry) { return !is_aggregate(entry); });
    collected_.system("/host", text_of(*context, "host_name").empty() ? json() : json(text_of(*context, "host_name")));
    remarks(*context);
    for (const json& entry : *list)
      if (entry.is_object()) add(entry);
    if (unknown_ > 0)
      collected_.note(
          fmt::format("{} of {} benchmarks have no counter named like a metric here, so what they measure is "
                      "not known: {}",
                      unknown_, list->size(), examples_));
    return true;
  }

 private:
  static bool is_aggregate(const json& entry) { return text_of(entry, "run_type") == "aggregate"; }

  void remarks(const json& context) {
    if (text_of(context, "library_build_type") == "debug")
      collected_.note("Google Benchmark itself was built for debugging: short times are too long");
    const auto scaling = context.find("cpu_scaling_enabled");
    if (scaling != context.end() && scaling->is_boolean() && scaling->get<bool>())
      collected_.note("CPU frequency scaling was on: figures of the host vary with it");
  }

  void add(const json& entry) {
    const std::string id = id_of(entry);
    // Repetitions are samples; of a document that has aggregates only, the median counts.
    if (is_aggregate(entry) && (has_iterations_ || text_of(entry, "aggregate_name") != "median")) return;
    const auto error = entry.find("error_occurred");
    const bool failed = error != entry.end() && error->is_boolean() && error->get<bool>();
    const std::string skipped = text_of(entry, "skip_message");
    bool any = false;
    for (const auto& [key, value] : entry.items()) {
      const Metric* metric = find_metric(key);
      if (metric == nullptr) continue;
      any = true;
      const auto figure = value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
      keep(entry, id, *metric, failed ? std::nullopt : figure, failed ? text_of(entry, "error_message") : "");
    }
    if (any) return;
    if (failed || !skipped.empty()) {
      collected_.add(Finding{"import.benchmark_failed",
                             failed ? "error" : "info",
                             fmt::format("{}: {}.", id, failed ? text_of(entry, "error_message") : skipped),
                             "",
                             {}});
      return;
    }
    if (seen_.insert(id).second) {
      ++unknown_;
      if (unknown_ <= 3) examples_ += (examples_.empty() ? "" : ", ") + id;
    }
  }

  void keep(const json& entry, const std::string& id, const Metric& metric, std::optional<double> value,
            const std::string& error) {
    Measurement made = measured(id, metric.key, metric.unit, value, conditions_of(id),
                                error.empty() ? "the counter has no number" : error);
    if (const std::string label = text_of(entry, "label"); !label.empty()) made.conditions["label"] = label;
    const auto seconds = seconds_of(text_of(entry, "time_unit"));
    if (const auto time = number_of(entry, "real_time"); time && seconds) made.evidence["seconds"] = *time * *seconds;
    collected_.add(made);
  }

  Collected& collected_;
  const json& document_;
  std::set<std::string> seen_;
  std::string examples_;
  std::size_t unknown_ = 0;
  bool has_iterations_ = false;
};

}  // namespace

bool document_google_benchmark(Collected& collected, const json& value) {
  return value.is_object() && GoogleBenchmark(collected, value).read();
}

}  // namespace claimcheck::importing

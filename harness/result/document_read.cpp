// JSON to records. Keys we do not know are left alone; what we know has to be right.
#include <fmt/format.h>

#include <charconv>

#include "harness/error.h"
#include "harness/nearest.h"
#include "harness/result/document.h"
#include "harness/result/json_text.h"
#include "harness/result/metrics.h"
#include "harness/result/shape.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

using nlohmann::json;

struct Version {
  int major = 0;
  int minor = 0;
};

Version version_of(const Shape& document) {
  const auto member = document.object().optional_member("schema_version");
  if (!member) document.fail("expected a claimcheck result document, found an object without \"schema_version\"");
  const std::string text = member->value().is_string() ? member->text() : std::string();
  const std::size_t dot = text.find('.');
  Version version;
  const auto digits = [](std::string_view part, int& number) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    return !part.empty() && error == std::errc{} && end == part.data() + part.size() && number >= 0;
  };
  if (dot == std::string::npos || !digits(std::string_view(text).substr(0, dot), version.major) ||
      !digits(std::string_view(text).substr(dot + 1), version.minor)) {
    member->expected(fmt::format("a version such as \"{}.{}\"", schema_major, schema_minor));
  }
  if (version.major > schema_major) {
    member->fail(fmt::format("made by a newer claimcheck (schema {}; this one reads {}.x): update claimcheck", text,
                             schema_major));
  }
  if (version.major < schema_major) {
    member->fail(fmt::format("schema {} is too old; this claimcheck reads {}.x: measure again", text, schema_major));
  }
  return version;
}

Outcome outcome_of(const Shape& word) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(Outcome::failed); ++i) words.emplace_back(to_string(static_cast<Outcome>(i)));
  return *outcome_from(word.one_of(words));
}

VerdictKind verdict_kind_of(const Shape& word) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(VerdictKind::contradicted); ++i) {
    words.emplace_back(to_string(static_cast<VerdictKind>(i)));
  }
  const std::string found = word.one_of(words);
  int index = 0;
  while (words[static_cast<std::size_t>(index)] != found) ++index;
  return static_cast<VerdictKind>(index);
}

std::string metric_key(const Shape& metric) {
  std::string key = metric.filled_text();
  if (is_metric_key(key)) return key;
  const auto near = near_metrics(key);
  metric.expected("a metric key such as " + (near.empty() ? "\"memory.triad.gbps\"" : quoted_choice(near)));
}

json object_or_empty(const Shape& record, const std::string& key) {
  const auto member = record.optional_member(key);
  return member ? member->object().value() : json::object();
}

std::string text_or_empty(const Shape& record, const std::string& key) {
  const auto member = record.optional_member(key);
  return member ? member->text() : std::string();
}

bool flag(const Shape& record, const std::string& key) {
  const auto member = record.optional_member(key);
  return member && member->boolean();
}

Statistics statistics_from(const Shape& record) {
  Statistics statistics;
  statistics.median = record.member("median").number();
  statistics.min = record.member("min").number();
  statistics.max = record.member("max").number();
  statistics.cv = record.member("cv").number();
  if (const auto ci95 = record.optional_member("ci95")) statistics.ci95 = ci95->interval_or_null();
  const Shape samples = record.member("samples");
  for (const Shape& sample : samples.elements()) statistics.samples.push_back(sample.number());
  if (statistics.samples.empty()) samples.fail("expected at least one sample, found none");
  if (statistics.min > statistics.median || statistics.median > statistics.max) {
    record.fail(fmt::format("expected min <= median <= max, found {}, {}, {}", statistics.min, statistics.median,
                            statistics.max));
  }
  if (statistics.cv < 0) record.member("cv").expected("a number >= 0");
  return statistics;
}

DeviceValue device_from(const Shape& record) {
  DeviceValue device;
  device.index = record.member("index").integer();
  device.name = text_or_empty(record, "name");
  if (const auto value = record.optional_member("value")) device.value = value->number_or_null();
  if (const auto ci95 = record.optional_member("ci95")) device.ci95 = ci95->interval_or_null();
  return device;
}

// A value in another unit than the metric's would be judged wrongly by a factor.
void check_unit(const Shape& record, const Measurement& measurement) {
  const Metric* metric = find_metric(measurement.metric);
  if (metric == nullptr || metric->unit == measurement.unit) return;
  record.member("unit").expected(fmt::format("\"{}\", the unit of {}", metric->unit, measurement.metric));
}

void check_outcome(const Shape& record, const Measurement& measurement) {
  if (measurement.status == Outcome::ok && !measurement.value) {
    record.member("value").expected("a number, because the status is ok");
  }
  if (measurement.status != Outcome::ok && measurement.reason.empty()) {
    record.fail(fmt::format("expected a reason, because the status is {}", to_string(measurement.status)));
  }
}

Finding finding_from(const Shape& record) {
  Finding finding;
  finding.id = record.member("id").filled_text();
  finding.severity = record.member("severity").one_of({"info", "warning", "error"});
  finding.text = record.member("text").filled_text();
  finding.next_step = text_or_empty(record, "next_step");
  finding.cause = text_or_empty(record, "cause");
  finding.evidence = object_or_empty(record, "evidence");
  return finding;
}

Claim claim_from(const Shape& record) {
  Claim claim;
  claim.id = record.member("id").filled_text();
  claim.metric = metric_key(record.member("metric"));
  claim.comparison = record.member("operator").one_of({">=", "<=", "=="});
  const Shape value = record.member("value");
  if (value.value().is_object() || value.value().is_array()) value.expected("a number or a string");
  claim.value = value.value();
  claim.unit = text_or_empty(record, "unit");
  claim.definition = object_or_empty(record, "definition");
  claim.source = object_or_empty(record, "source");
  return claim;
}

Verdict verdict_from(const Shape& record) {
  Verdict verdict;
  verdict.claim = claim_from(record.member("claim"));
  verdict.kind = verdict_kind_of(record.member("verdict"));
  if (const auto attained = record.optional_member("attained")) {
    if (attained->value().is_object() || attained->value().is_array()) {
      attained->expected("a number, a string or null");
    }
    verdict.attained = attained->value();
  }
  if (const auto interval = record.optional_member("interval")) verdict.interval = interval->interval_or_null();
  verdict.reason = text_or_empty(record, "reason");
  if (const auto diagnosis = record.optional_member("diagnosis")) {
    for (const Shape& line : diagnosis->elements()) verdict.diagnosis.push_back(line.text());
  }
  verdict.measurement_id = text_or_empty(record, "measurement_id");
  if (const auto meaning = record.optional_member("meaning")) {
    if (!meaning->value().is_object()) meaning->expected("an object");
    verdict.meaning = meaning->value();
  }
  return verdict;
}

void note_unknown_metrics(Document& document) {
  for (std::size_t i = 0; i < document.measurements.size(); ++i) {
    const std::string& key = document.measurements[i].metric;
    if (find_metric(key) != nullptr) continue;
    const auto near = near_metrics(key);
    document.notes.push_back(
        fmt::format("/measurements/{}/metric: this claimcheck does not know \"{}\" and does not "
                    "judge it{}",
                    i, key, near.empty() ? "" : "; nearest: " + quoted_choice(near)));
  }
}

}  // namespace

Measurement measurement_from(const json& value, const std::string& where) {
  const Shape record(value, where);
  Measurement measurement;
  measurement.id = record.object().member("id").filled_text();
  measurement.metric = metric_key(record.member("metric"));
  measurement.value = record.member("value").number_or_null();
  measurement.unit = record.member("unit").text();
  measurement.status = outcome_of(record.member("status"));
  measurement.reason = text_or_empty(record, "reason");
  if (const auto statistics = record.optional_member("statistics"); statistics && !statistics->value().is_null()) {
    measurement.statistics = statistics_from(*statistics);
  }
  measurement.conditions = object_or_empty(record, "conditions");
  if (const auto devices = record.optional_member("devices")) {
    for (const Shape& device : devices->elements()) measurement.devices.push_back(device_from(device));
  }
  measurement.evidence = object_or_empty(record, "evidence");
  measurement.is_virtual = flag(record, "virtual");
  measurement.estimate = flag(record, "estimate");
  check_unit(record, measurement);
  check_outcome(record, measurement);
  return measurement;
}

Document document_from(const json& value) {
  const Shape whole(value, "");
  if (!value.is_object()) whole.expected("a claimcheck result document");
  const Version version = version_of(whole);
  Document document;
  if (version.minor > schema_minor) {
    document.notes.push_back(
        fmt::format("made by a newer claimcheck (schema {}.{}; this one knows {}.{}): what is new in it is not shown",
                    version.major, version.minor, schema_major, schema_minor));
  }
  document.run = whole.member("run").object().value();
  document.platform = object_or_empty(whole, "platform");
  document.system = object_or_empty(whole, "system");
  const Shape measurements = whole.member("measurements");
  for (const Shape& record : measurements.elements()) {
    document.measurements.push_back(measurement_from(record.value(), record.where()));
  }
  if (const auto findings = whole.optional_member("findings")) {
    for (const Shape& record : findings->elements()) document.findings.push_back(finding_from(record));
  }
  if (const auto verdicts = whole.optional_member("verdicts")) {
    for (const Shape& record : verdicts->elements()) document.verdicts.push_back(verdict_from(record));
  }
  if (const auto cost = whole.optional_member("cost"); cost && !cost->value().is_null()) {
    document.cost = cost->object().value();
  }
  document.is_virtual = flag(whole, "virtual");
  note_unknown_metrics(document);
  return document;
}

Document read_document(const std::filesystem::path& file) {
  const json value = parse_json(read_text(file), file.string());
  try {
    return document_from(value);
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", sanitised_text(file.string()), error.what()), error.code());
  }
}

}  // namespace claimcheck

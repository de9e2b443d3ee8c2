// Records to JSON. What has no value is null; `virtual` and `estimate` are written only when they are true.
#include <fmt/format.h>

#include <cmath>

#include "harness/result/document.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// JSON has no NaN; a number that is none is unknown.
json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

json interval(const std::optional<std::pair<double, double>>& pair) {
  if (!pair || !std::isfinite(pair->first) || !std::isfinite(pair->second)) return nullptr;
  return json::array({pair->first, pair->second});
}

bool all_finite(const Statistics& statistics) {
  bool finite = std::isfinite(statistics.median) && std::isfinite(statistics.min) && std::isfinite(statistics.max) &&
                std::isfinite(statistics.cv);
  for (const double sample : statistics.samples) finite = finite && std::isfinite(sample);
  return finite;
}

json to_json(const std::optional<Statistics>& statistics) {
  if (!statistics || !all_finite(*statistics)) return nullptr;
  return {{"median", statistics->median},
          {"min", statistics->min},
          {"max", statistics->max},
          {"cv", statistics->cv},
          {"ci95", interval(statistics->ci95)},
          {"samples", statistics->samples}};
}

json list(const auto& records) {
  json array = json::array();
  for (const auto& record : records) array.push_back(to_json(record));
  return array;
}

// What C++ makes of {} is null, which readers refuse.
json object(const json& value) { return value.is_null() ? json::object() : value; }

}  // namespace

json to_json(const Measurement& measurement) {
  json devices = json::array();
  for (const DeviceValue& device : measurement.devices) {
    json written = {{"index", device.index}, {"name", device.name}, {"value", number(device.value)}};
    if (device.ci95) written["ci95"] = {device.ci95->first, device.ci95->second};
    devices.push_back(std::move(written));
  }
  json value = {{"id", measurement.id},
                {"metric", measurement.metric},
                {"value", number(measurement.value)},
                {"unit", measurement.unit},
                {"status", to_string(measurement.status)},
                {"reason", measurement.reason},
                {"statistics", to_json(measurement.statistics)},
                {"conditions", object(measurement.conditions)},
                {"devices", std::move(devices)},
                {"evidence", object(measurement.evidence)}};
  if (measurement.is_virtual) value["virtual"] = true;
  if (measurement.estimate) value["estimate"] = true;
  return value;
}

json to_json(const Finding& finding) {
  json value = {{"id", finding.id},
                {"severity", finding.severity},
                {"text", finding.text},
                {"next_step", finding.next_step},
                {"evidence", object(finding.evidence)}};
  if (!finding.cause.empty()) value["cause"] = finding.cause;
  return value;
}

json to_json(const Verdict& verdict) {
  const Claim& claim = verdict.claim;
  json value = {{"claim",
                 {{"id", claim.id},
                  {"metric", claim.metric},
                  {"operator", claim.comparison},
                  {"value", claim.value},
                  {"unit", claim.unit},
                  {"definition", claim.definition},
                  {"source", claim.source}}},
                {"verdict", to_string(verdict.kind)},
                {"attained", verdict.attained},
                {"interval", interval(verdict.interval)},
                {"reason", verdict.reason},
                {"diagnosis", verdict.diagnosis},
                {"measurement_id", verdict.measurement_id}};
  if (!verdict.meaning.is_null()) value["meaning"] = verdict.meaning;
  return value;
}

json to_json(const Document& document) {
  json value = {{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
                {"run", document.run},
                {"platform", document.platform},
                {"system", document.system},
                {"measurements", list(document.measurements)},
                {"findings", list(document.findings)},
                {"verdicts", list(document.verdicts)},
                {"cost", document.cost}};
  if (document.is_virtual) value["virtual"] = true;
  return value;
}

}  // namespace claimcheck

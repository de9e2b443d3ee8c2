// Done once on the whole document before a report is laid out, so that no format can forget it.
#include "harness/report/sanitise.h"

#include <string>

namespace claimcheck {
namespace {

void clean(std::string& text) { text = sanitised_text(text); }
void clean(nlohmann::json& value) { value = sanitised_json(value); }

void clean(Measurement& measurement) {
  clean(measurement.id);
  clean(measurement.metric);
  clean(measurement.unit);
  clean(measurement.reason);
  clean(measurement.conditions);
  clean(measurement.evidence);
  for (DeviceValue& device : measurement.devices) clean(device.name);
}

void clean(Finding& finding) {
  clean(finding.id);
  clean(finding.severity);
  clean(finding.text);
  clean(finding.next_step);
  clean(finding.cause);
  clean(finding.evidence);
}

void clean(Verdict& verdict) {
  clean(verdict.claim.id);
  clean(verdict.claim.metric);
  clean(verdict.claim.comparison);
  clean(verdict.claim.value);
  clean(verdict.claim.unit);
  clean(verdict.claim.definition);
  clean(verdict.claim.source);
  clean(verdict.attained);
  clean(verdict.reason);
  for (std::string& line : verdict.diagnosis) clean(line);
  clean(verdict.measurement_id);
  clean(verdict.meaning);
}

}  // namespace

nlohmann::json sanitised_json(const nlohmann::json& value) {
  if (value.is_string()) return sanitised_text(value.get_ref<const std::string&>());
  if (value.is_array()) {
    nlohmann::json out = nlohmann::json::array();
    for (const nlohmann::json& element : value) out.push_back(sanitised_json(element));
    return out;
  }
  if (value.is_object()) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& item : value.items()) out[sanitised_text(item.key())] = sanitised_json(item.value());
    return out;
  }
  return value;
}

Document sanitised(Document document) {
  clean(document.run);
  clean(document.platform);
  clean(document.system);
  for (Measurement& measurement : document.measurements) clean(measurement);
  for (Finding& finding : document.findings) clean(finding);
  for (Verdict& verdict : document.verdicts) clean(verdict);
  clean(document.cost);
  for (std::string& note : document.notes) clean(note);
  return document;
}

}  // namespace claimcheck

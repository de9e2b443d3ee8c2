// Done once on the whole document before a report is laid out, so that no format can forget it.
#include "harness/report/sanitise.h"

#include <cstdint>

namespace claimcheck {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the well-formed UTF-8 sequence at `at` (RFC 3629: shortest form, no surrogates), 0 when there is none.
std::size_t sequence_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool bad = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F);
    return !bad && follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool bad = (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
    return !bad && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::uint32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead;
  std::uint32_t point = lead & (0x7FU >> sequence.size());
  for (const char c : sequence.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return point;
}

bool steers(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x061C || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

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
}

}  // namespace

std::string sanitised_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = sequence_bytes(text, at);
    if (bytes == 0) {
      out += replacement;
      ++at;
      continue;
    }
    const std::string_view sequence = text.substr(at, bytes);
    if (sequence == "\n" || sequence == "\t" || sequence == "\r") {
      out += ' ';
    } else {
      out += steers(code_point(sequence)) ? replacement : sequence;
    }
    at += bytes;
  }
  return out;
}

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

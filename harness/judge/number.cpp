#include "harness/judge/number.h"

#include <fmt/format.h>

#include <cmath>

namespace claimcheck {

std::string exact_text(double value) {
  std::string text = fmt::format("{:.9g}", value);
  const bool exponent = text.find('e') != std::string::npos;
  return exponent && std::abs(value) >= 1 && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value) : text;
}

std::string claimed_text(const nlohmann::json& value, const std::string& unit) {
  if (!value.is_number() || unit.empty()) return value_text(value);
  if (unit == "1") return exact_text(value.get<double>() * 100) + " %";
  return value_text(value) + " " + unit;
}

std::string value_text(const nlohmann::json& value) {
  if (value.is_number()) return exact_text(value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string share_text(double share) {
  const double percent = share * 100;
  if (percent < 100 && percent >= 99.95) return "99.9 %";
  if (percent > 100 && percent < 100.05) return "100.1 %";
  if (percent != 0 && std::abs(percent) < 1) return fmt::format("{:.2g} %", percent);
  if (percent > 9999.95) return "over 9999 %";  // more digits would be cut from a column and misread
  return fmt::format("{:.1f} %", percent);
}

}  // namespace claimcheck

#include "harness/judge/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace claimcheck {

std::string number_text(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e15)) return fmt::format("{:.4g}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  const int digits = size == 0 ? 0 : std::clamp(3 - static_cast<int>(std::floor(std::log10(size))), 0, 9);
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string percent_text(double share) {
  const double percent = share * 100;
  if (percent < 100 && percent > 99.9) return "99.9 %";
  if (percent > 100 && percent < 100.1) return "100.1 %";
  if (percent != 0 && std::abs(percent) < 0.1) return number_text(percent) + " %";
  return fmt::format("{:.1f} %", percent);
}

std::string value_text(const nlohmann::json& value) {
  if (value.is_number()) return number_text(value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string quantity_text(double value, const std::string& unit) {
  return unit.empty() || unit == "1" ? number_text(value) : number_text(value) + " " + unit;
}

}  // namespace claimcheck

// Rounding happens here and nowhere before: documents hold every digit.
#include "harness/report/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace claimcheck {

std::string number_text(double value) {
  if (!std::isfinite(value)) return "unknown";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e9 || size < 1e-4) return fmt::format("{:.2e}", value);
  // Digits before the point, of the rounded number: 9.996 is shown as 10.0.
  const std::string rounded = fmt::format("{:.2e}", size);
  const int digits = std::stoi(rounded.substr(rounded.find('e') + 1)) + 1;
  if (digits > 4) {
    const double step = std::pow(10.0, digits - 4);
    return fmt::format("{:.0f}", std::round(value / step) * step);
  }
  return fmt::format("{:.{}f}", value, digits >= 3 ? 0 : 3 - digits);
}

std::string percent_text(double fraction) {
  const double percent = fraction * 100;
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 99.95 ? 1 : 0);
}

std::string quantity_text(double value, std::string_view unit) {
  if (unit == "1") return percent_text(value);
  return unit.empty() ? number_text(value) : number_text(value) + ' ' + std::string(unit);
}

std::string range_text(double low, double high, std::string_view unit) {
  if (unit != "1") return number_text(low) + " .. " + number_text(high);
  const std::string first = percent_text(low);
  return first.substr(0, first.size() - 2) + " .. " + percent_text(high);
}

std::string binary_bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(units) && bytes >= 1024) {
    bytes /= 1024;
    ++unit;
  }
  const bool whole = bytes == std::floor(bytes) && bytes < 10000;
  return (whole ? fmt::format("{:.0f}", bytes) : number_text(bytes)) + ' ' + units[unit];
}

std::string case_text(const Measurement& measurement) {
  const std::size_t slash = measurement.id.find('/');
  if (slash == std::string::npos) return {};
  std::string text;
  // "m:8,n:4" or "bytes:1024/in_place": one word a parameter.
  for (std::size_t at = slash + 1; at <= measurement.id.size();) {
    const std::size_t end = std::min(measurement.id.find_first_of(",/", at), measurement.id.size());
    const std::string part = measurement.id.substr(at, end - at);
    const std::size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    const std::string value = colon == std::string::npos ? std::string() : part.substr(colon + 1);
    const bool digits =
        !value.empty() && value.size() < 16 && value.find_first_not_of("0123456789") == std::string::npos;
    if (!text.empty()) text += ", ";
    if (digits && name == "bytes") {
      text += binary_bytes_text(std::stod(value));
    } else if (digits && name == "ranks") {
      text += value + (value == "1" ? " rank" : " ranks");
    } else {
      text += value.empty() ? name : fmt::format("{} {}", name, value);
      std::replace(text.begin(), text.end(), '_', ' ');  // in_place
    }
    at = end + 1;
  }
  return text;
}

}  // namespace claimcheck

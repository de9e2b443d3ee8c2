// Claimed figures in sentences: every digit as claimed. Measured ones are rounded by harness/report/quantity.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace claimcheck {

// 2900 -> "2900", 835.5 -> "835.5", 0.7 -> "0.7": the shortest that reads back the same to nine digits.
std::string exact_text(double value);

// With its unit; a ratio (unit "1") in percent.
std::string claimed_text(const nlohmann::json& value, const std::string& unit);

// A number as exact_text(), a string without its quotes, anything else as JSON.
std::string value_text(const nlohmann::json& value);

// 0.931 -> "93.1 %"; never "100 %" for what is not, and small shares keep two digits.
std::string share_text(double share);

}  // namespace claimcheck

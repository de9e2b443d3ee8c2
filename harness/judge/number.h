// Numbers in sentences: four significant digits, no exponents where a person would write none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace claimcheck {

// 2958.37 -> "2958", 0.012345 -> "0.01234", 1000000 -> "1000000".
std::string number_text(double value);

// 0.9312 -> "93.1 %"; never rounds to 100 % what is not.
std::string percent_text(double share);

// A number, a string without its quotes, anything else as JSON.
std::string value_text(const nlohmann::json& value);

// "2958 GB/s"; a ratio (unit "1") without a unit.
std::string quantity_text(double value, const std::string& unit);

}  // namespace claimcheck

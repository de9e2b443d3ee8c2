// Units of metrics and claims. GB is 1e9 bytes, GiB 2^30, Gb 1e9 bits; conversion happens within one dimension only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

// Spelling as units are printed ("GB/s", "us"); forgives case where only one unit can be meant ("gb/s" could be bits
// or bytes and is unknown), "µs", "seconds", "percent". Empty when unknown.
std::string_view find_unit(std::string_view text);

// `value` in `to`; unset when either unit is unknown or their dimensions differ. Both as find_unit() returns them.
std::optional<double> convert(double value, std::string_view from, std::string_view to);

// Every unit that converts to `unit`, itself first.
std::vector<std::string_view> units_like(std::string_view unit);

}  // namespace claimcheck

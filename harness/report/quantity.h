// Numbers as people read them: three significant digits (four from 1000 on), always with their unit. Pure.
#pragma once

#include <string>
#include <string_view>

#include "harness/result/measurement.h"

namespace claimcheck {

// "612", "4.60", "0.0123", "12350": never an exponent between 0.0001 and 1e9.
std::string number_text(double value);

// With its unit; a ratio (unit "1") is shown in percent.
std::string quantity_text(double value, std::string_view unit);

// "10.1 .. 10.4", both in the measurement's unit; percent for a ratio.
std::string range_text(double low, double high, std::string_view unit);

// 0.012 -> "1.2 %".
std::string percent_text(double fraction);

// Binary, as memory and message sizes are counted: "64 MiB", "11.8 GiB".
std::string binary_bytes_text(double bytes);

// What sets one case of a benchmark apart: "n 4096", "2 ranks, 64 MiB"; empty when there is only one.
std::string case_text(const Measurement& measurement);

}  // namespace claimcheck

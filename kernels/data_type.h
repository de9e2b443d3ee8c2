// Data types a device computes in, and their decoding to double for independent references on the host CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace claimcheck::kernels {

// tf32 is stored as fp32 and multiplied with a 10 bit mantissa; fp4 is e2m1, two values a byte, low nibble first.
enum class DataType { fp64, fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, fp4, int8, int32 };

// "fp64", "fp8_e4m3", ...: the words used in metric keys and conditions.
std::string_view to_string(DataType type);

// Bytes that `count` values take (fp4: two a byte, rounded up).
std::size_t storage_bytes(DataType type, std::size_t count);

// The values as doubles, exactly (every type here fits a double). `stored` holds storage_bytes(type, count) bytes.
std::vector<double> decode(DataType type, std::span<const std::byte> stored, std::size_t count);

// The nearest values of the type, ties to even. Past the range: infinity where the type has one, else its largest
// value. NaN stays NaN where the type has one; in an integer it is 0. The inverse of decode() for values the type has.
void encode(DataType type, std::span<const double> values, std::span<std::byte> stored);

// Unit round-off of the type: 2^-53 for fp64, 2^-8 for bf16, ... 0 for integers. Tolerances of checks come from it.
double unit_roundoff(DataType type);

}  // namespace claimcheck::kernels

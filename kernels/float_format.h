// Conversion between double and the small floating-point formats, by integer arithmetic only, so that every device kind
// and compiler gives the same bits. Layouts: IEEE 754 binary16, bfloat16, OCP 8-bit (E4M3, E5M2) and OCP MX (E2M1).
#pragma once

#include <bit>
#include <cstdint>

namespace claimcheck::kernels {

// What the top exponent means. `none`: ordinary numbers only (e2m1); `nan_only`: ordinary numbers, all ones is NaN
// (e4m3); `ieee`: infinity and NaN.
enum class Specials { none, nan_only, ieee };

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  Specials specials;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint32_t exponent_mask() const { return (1U << exponent_bits) - 1U; }
  constexpr std::uint32_t mantissa_mask() const { return (1U << mantissa_bits) - 1U; }
  constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t nan() const { return (exponent_mask() << mantissa_bits) | mantissa_mask(); }
  // The largest finite magnitude.
  constexpr std::uint32_t largest() const {
    if (specials == Specials::none) return nan();
    return specials == Specials::nan_only ? nan() - 1U : (exponent_mask() << mantissa_bits) - 1U;
  }
};

inline constexpr FloatFormat format_fp16{5, 10, Specials::ieee};
inline constexpr FloatFormat format_bf16{8, 7, Specials::ieee};
inline constexpr FloatFormat format_tf32{8, 10, Specials::ieee};  // the upper 19 bits of an fp32
inline constexpr FloatFormat format_fp8_e4m3{4, 3, Specials::nan_only};
inline constexpr FloatFormat format_fp8_e5m2{5, 2, Specials::ieee};
inline constexpr FloatFormat format_fp4_e2m1{2, 1, Specials::none};

template <FloatFormat format>
constexpr double decode_bits(std::uint32_t bits) {
  constexpr int mantissa_shift = 52 - format.mantissa_bits;
  const std::uint32_t exponent = (bits >> format.mantissa_bits) & format.exponent_mask();
  const std::uint32_t mantissa = bits & format.mantissa_mask();
  const std::uint64_t sign = (bits & format.sign_bit()) != 0 ? std::uint64_t{1} << 63 : 0;
  if (exponent == 0) {
    constexpr double quantum =
        std::bit_cast<double>(std::uint64_t(1023 + 1 - format.bias() - format.mantissa_bits) << 52);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(mantissa * quantum) | sign);
  }
  std::uint64_t wide_exponent = exponent + std::uint64_t(1023 - format.bias());
  if (format.specials == Specials::ieee && exponent == format.exponent_mask()) wide_exponent = 0x7ff;
  if (format.specials == Specials::nan_only && (bits & ~format.sign_bit()) == format.nan()) wide_exponent = 0x7ff;
  return std::bit_cast<double>(sign | (wide_exponent << 52) | (std::uint64_t{mantissa} << mantissa_shift));
}

// Rounds to nearest, ties to even. Past the largest finite value: infinity where the format has one, else the largest
// (as the saturating conversions of GPUs do). NaN stays NaN, or becomes the largest where there is none.
template <FloatFormat format>
constexpr std::uint32_t encode_bits(double value) {
  const std::uint64_t wide = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = (wide >> 63) != 0 ? format.sign_bit() : 0;
  const std::uint64_t magnitude = wide & ~(std::uint64_t{1} << 63);
  if (magnitude > 0x7ff0000000000000U)
    return sign | (format.specials == Specials::none ? format.largest() : format.nan());
  const int exponent = static_cast<int>(magnitude >> 52) - 1023 + format.bias();
  const std::uint64_t significand = (magnitude & 0xfffffffffffffU) | 0x10000000000000U;
  const int shift = 52 - format.mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
  std::uint64_t rounded = 0;
  if (shift < 54) {  // beyond, even the largest significand is less than half a quantum
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    rounded = significand >> shift;
    rounded += rest > half || (rest == half && (rounded & 1U) != 0) ? 1U : 0U;
  }
  // The implicit bit of a normal number adds one to the exponent field, and so does a carry out of the mantissa.
  const std::uint64_t bits = rounded + (exponent > 1 ? std::uint64_t(exponent - 1) << format.mantissa_bits : 0);
  if (bits <= format.largest()) return sign | static_cast<std::uint32_t>(bits);
  return sign | (format.specials == Specials::ieee ? format.largest() + 1U : format.largest());
}

}  // namespace claimcheck::kernels

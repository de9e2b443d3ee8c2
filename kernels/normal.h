// Random normal numbers by index: a counter-based generator (SplitMix64 of the index) and the Box-Muller transform.
// Only + - * / and square root are used, no library function, so that every device kind gives the same bits for the
// same seed; compile with -ffp-contract=off (nvcc: --fmad=false). Everything is inlined, because files compiled for
// different CPUs include this: an out-of-line copy must never serve the others.
// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014; Box, Muller, 1958.
#pragma once

#include <cstdint>

#include "kernels/data_type.h"

// nvcc wants to be told what runs on a GPU too.
#ifdef __CUDACC__
#define CLAIMCHECK_HOST_AND_DEVICE __host__ __device__
#else
#define CLAIMCHECK_HOST_AND_DEVICE
#endif

namespace claimcheck::kernels {

// Standard deviation of Pattern::normal, so that a type's range is used and seldom left.
constexpr double normal_scale(DataType type) {
  switch (type) {
    case DataType::int8:
      return 32;
    case DataType::int32:
      return 65536;
    default:
      return 1;
  }
}

namespace normal_detail {

[[gnu::always_inline]] constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Natural logarithm of a positive normal number: mantissa m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh((m - 1)/(m + 1)).
[[gnu::always_inline]] CLAIMCHECK_HOST_AND_DEVICE inline double logarithm(double x) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const std::uint64_t offset = bits - 0x3fe6a09e667f3bcdU;  // bits of sqrt(1/2)
  const auto exponent = static_cast<std::int32_t>(static_cast<std::int64_t>(offset) >> 52);
  const std::uint64_t mantissa_bits = (offset & 0xfffffffffffffU) + 0x3fe6a09e667f3bcdU;
  double m = 0;
  __builtin_memcpy(&m, &mantissa_bits, sizeof m);
  const double s = (m - 1.0) / (m + 1.0);
  const double t = s * s;
  double sum = 1.0 / 19;
  sum = sum * t + 1.0 / 17;
  sum = sum * t + 1.0 / 15;
  sum = sum * t + 1.0 / 13;
  sum = sum * t + 1.0 / 11;
  sum = sum * t + 1.0 / 9;
  sum = sum * t + 1.0 / 7;
  sum = sum * t + 1.0 / 5;
  sum = sum * t + 1.0 / 3;
  sum = sum * t + 1.0;
  return exponent * 0.69314718055994530942 + 2.0 * s * sum;
}

// Taylor series, for |x| <= pi/4; error below 1e-14.
[[gnu::always_inline]] CLAIMCHECK_HOST_AND_DEVICE inline double sine(double x) {
  const double t = x * x;
  double sum = 1.0 / 6227020800.0;
  sum = sum * t - 1.0 / 39916800.0;
  sum = sum * t + 1.0 / 362880.0;
  sum = sum * t - 1.0 / 5040.0;
  sum = sum * t + 1.0 / 120.0;
  sum = sum * t - 1.0 / 6.0;
  return x + x * t * sum;
}

[[gnu::always_inline]] CLAIMCHECK_HOST_AND_DEVICE inline double cosine(double x) {
  const double t = x * x;
  double sum = -1.0 / 87178291200.0;
  sum = sum * t + 1.0 / 479001600.0;
  sum = sum * t - 1.0 / 3628800.0;
  sum = sum * t + 1.0 / 40320.0;
  sum = sum * t - 1.0 / 720.0;
  sum = sum * t + 1.0 / 24.0;
  sum = sum * t - 0.5;
  return 1.0 + t * sum;
}

}  // namespace normal_detail

// The key of a seed: neighbouring seeds give unrelated sequences.
constexpr std::uint64_t normal_key(std::uint64_t seed) { return normal_detail::mix(seed + 0x9e3779b97f4a7c15U); }

// Values 2 * pair and 2 * pair + 1 of the sequence, mean 0 and standard deviation 1.
[[gnu::always_inline]] CLAIMCHECK_HOST_AND_DEVICE inline void normal_pair(std::uint64_t key, std::uint64_t pair,
                                                                          double& even, double& odd) {
  const std::uint64_t random = normal_detail::mix(key + (pair + 1) * 0x9e3779b97f4a7c15U);
  const auto low = static_cast<std::uint32_t>(random);
  const auto high = static_cast<std::uint32_t>(random >> 32);
  const double uniform = (low + 0.5) * 0x1p-32;  // in (0, 1)
  const double radius = __builtin_sqrt(-2.0 * normal_detail::logarithm(uniform));
  // The angle, 2 pi high / 2^32, is split into the nearest quadrant axis and a rest within pi/4 of it.
  const std::uint32_t quadrant = (high + 0x20000000U) >> 30;
  const auto rest = static_cast<std::int32_t>(high - (quadrant << 30));
  const double angle = rest * (6.28318530717958647692 * 0x1p-32);
  const double s = normal_detail::sine(angle);
  const double c = normal_detail::cosine(angle);
  const bool swap = (quadrant & 1U) != 0;
  const double x = swap ? s : c;
  const double y = swap ? c : s;
  even = radius * (((quadrant + 1U) & 2U) != 0 ? -x : x);
  odd = radius * ((quadrant & 2U) != 0 ? -y : y);
}

}  // namespace claimcheck::kernels

// Random normal numbers in every data type, bit for bit those of the host's fill (kernels/normal.h, encode()).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/data_type.h"
#include "kernels/float_format.h"
#include "kernels/normal.h"

namespace claimcheck::kernels::cuda {

template <class Integer>
__device__ inline Integer nearest_integer(double value, double lowest, double highest) {
  return static_cast<Integer>(fmin(fmax(rint(value), lowest), highest));
}

// The value as it is stored, fp4 in the low half of a byte.
template <DataType type>
__device__ inline auto stored(double value) {
  if constexpr (type == DataType::fp64) return value;
  if constexpr (type == DataType::fp32) return static_cast<float>(value);
  if constexpr (type == DataType::tf32) return encode_bits<format_tf32>(value) << 13;
  if constexpr (type == DataType::fp16) return static_cast<std::uint16_t>(encode_bits<format_fp16>(value));
  if constexpr (type == DataType::bf16) return static_cast<std::uint16_t>(encode_bits<format_bf16>(value));
  if constexpr (type == DataType::fp8_e4m3) return static_cast<std::uint8_t>(encode_bits<format_fp8_e4m3>(value));
  if constexpr (type == DataType::fp8_e5m2) return static_cast<std::uint8_t>(encode_bits<format_fp8_e5m2>(value));
  if constexpr (type == DataType::fp4) return static_cast<std::uint8_t>(encode_bits<format_fp4_e2m1>(value));
  if constexpr (type == DataType::int8) return nearest_integer<std::int8_t>(value, -128, 127);
  if constexpr (type == DataType::int32) return nearest_integer<std::int32_t>(value, -2147483648.0, 2147483647.0);
}

template <class Stored>
struct alignas(2 * sizeof(Stored)) StoredPair {
  Stored even;
  Stored odd;
};

template <DataType type>
__device__ inline void store_pair(void* target, std::uint64_t pair, std::uint64_t elements, double even, double odd) {
  using Stored = decltype(stored<type>(0.0));
  if constexpr (type == DataType::fp4) {  // a whole number of bytes is filled, so elements come in pairs
    static_cast<std::uint8_t*>(target)[pair] = static_cast<std::uint8_t>(stored<type>(even) | (stored<type>(odd) << 4));
  } else if (2 * pair + 1 < elements) {
    static_cast<StoredPair<Stored>*>(target)[pair] = {stored<type>(even), stored<type>(odd)};
  } else {
    static_cast<Stored*>(target)[2 * pair] = stored<type>(even);
  }
}

inline constexpr int fill_threads = 256;

template <DataType type>
__global__ void __launch_bounds__(fill_threads) fill_normal(void* target, std::uint64_t elements, std::uint64_t key) {
  constexpr double scale = normal_scale(type);
  const std::uint64_t pairs = (elements + 1) / 2;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * fill_threads;
  for (std::uint64_t pair = std::uint64_t{blockIdx.x} * fill_threads + threadIdx.x; pair < pairs; pair += stride) {
    double even = 0;
    double odd = 0;
    normal_pair(key, pair, even, odd);
    store_pair<type>(target, pair, elements, even * scale, odd * scale);
  }
}

}  // namespace claimcheck::kernels::cuda

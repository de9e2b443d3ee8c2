// Chains of arithmetic on registers by the ordinary units; kernels/device.h (VectorChains) defines them to the bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/instructions.cuh"
#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// Four warps on each quarter of an SM with 8 chains each: 32 independent instructions hide latencies of 4 to 16 cycles.
inline constexpr int vector_threads = 512;
inline constexpr int vector_chains = 8;
// Steps between two looks at the loop's counter, which costs issue slots the chains could use.
inline constexpr int vector_unroll = 16;

// Lanes of one thread: 16-bit types are worked on in pairs.
constexpr int lanes_of_thread(VectorOp op) { return op == VectorOp::fp16 || op == VectorOp::bf16 ? 2 : 1; }

// What a thread holds of one chain: a number, or the bits of one or two.
template <VectorOp op>
using ChainWord =
    std::conditional_t<op == VectorOp::fp64, double, std::conditional_t<op == VectorOp::fp32, float, std::uint32_t>>;

template <FloatFormat format>
constexpr std::uint32_t pair_of(double value) {
  return encode_bits<format>(value) * 0x10001U;
}

// Where chain j starts from input v.
template <VectorOp op>
__device__ inline ChainWord<op> chain_start(ChainWord<op> v, int j) {
  if constexpr (op == VectorOp::fp64) return fma(v, 0.125, j * 0.0625);
  if constexpr (op == VectorOp::fp32) return fmaf(v, 0.125F, static_cast<float>(j) * 0.0625F);
  if constexpr (op == VectorOp::fp16)
    return fma_fp16_pair(v, pair_of<format_fp16>(0.125), pair_of<format_fp16>(j * 0.0625));
  if constexpr (op == VectorOp::bf16)
    return fma_bf16_pair(v, pair_of<format_bf16>(0.125), pair_of<format_bf16>(j * 0.0625));
  if constexpr (op == VectorOp::int32 || op == VectorOp::dp4a) return v + static_cast<std::uint32_t>(j);
}

template <VectorOp op>
__device__ inline ChainWord<op> chain_step(ChainWord<op> x, [[maybe_unused]] ChainWord<op> v) {
  if constexpr (op == VectorOp::fp64) return fma(x, x, -1.8125);
  if constexpr (op == VectorOp::fp32) return fmaf(x, x, -1.8125F);
  if constexpr (op == VectorOp::fp16) return fma_fp16_pair(x, x, pair_of<format_fp16>(-1.8125));
  if constexpr (op == VectorOp::bf16) return fma_bf16_pair(x, x, pair_of<format_bf16>(-1.8125));
  if constexpr (op == VectorOp::int32) return multiply_add(x, 1664525U, 1013904223U);
  if constexpr (op == VectorOp::dp4a) return dot_signed_bytes(x, 0xff02fd04U, v);
}

// Sums of 16-bit numbers are fused with a multiplication by 1: there is no bf16 addition before compute capability 9.0.
template <VectorOp op>
__device__ inline ChainWord<op> chain_sum(ChainWord<op> a, ChainWord<op> b) {
  if constexpr (op == VectorOp::fp16) {
    return fma_fp16_pair(a, pair_of<format_fp16>(1), b);
  } else if constexpr (op == VectorOp::bf16) {
    return fma_bf16_pair(a, pair_of<format_bf16>(1), b);
  } else {
    return a + b;
  }
}

template <VectorOp op>
__global__ void __launch_bounds__(vector_threads) run_chains(const void* input, void* output, std::int64_t steps) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * vector_threads + threadIdx.x;
  const ChainWord<op> v = static_cast<const ChainWord<op>*>(input)[thread];
  ChainWord<op> x[vector_chains];
#pragma unroll
  for (int j = 0; j < vector_chains; ++j) x[j] = chain_start<op>(v, j);
  for (; steps >= vector_unroll; steps -= vector_unroll) {
#pragma unroll
    for (int step = 0; step < vector_unroll; ++step) {
#pragma unroll
      for (int j = 0; j < vector_chains; ++j) x[j] = chain_step<op>(x[j], v);
    }
  }
  for (; steps > 0; --steps) {
#pragma unroll
    for (int j = 0; j < vector_chains; ++j) x[j] = chain_step<op>(x[j], v);
  }
  ChainWord<op> sum = x[0];
#pragma unroll
  for (int j = 1; j < vector_chains; ++j) sum = chain_sum<op>(sum, x[j]);
  static_cast<ChainWord<op>*>(output)[thread] = sum;
}

}  // namespace claimcheck::kernels::cuda

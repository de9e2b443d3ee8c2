// Single instructions that C++ has no word for, as functions, each with a branch for CPUs (CLAIMCHECK_VIRTUAL_CPU: the
// virtual platform compiles the kernels with g++). Pairs of 16-bit numbers are one 32-bit word, the first one low.
#pragma once

#include <cstdint>

#include "kernels/float_format.h"

namespace claimcheck::kernels::cuda {

#ifdef CLAIMCHECK_VIRTUAL_CPU

template <FloatFormat format>
inline std::uint32_t fma_half(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  // Products of 16-bit numbers are exact in a double, and their sums lie too far from a tie to be rounded twice.
  return encode_bits<format>(decode_bits<format>(a & 0xffffU) * decode_bits<format>(b & 0xffffU) +
                             decode_bits<format>(c & 0xffffU));
}

template <FloatFormat format>
inline std::uint32_t fma_pair_on_cpu(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return fma_half<format>(a, b, c) | (fma_half<format>(a >> 16, b >> 16, c >> 16) << 16);
}

inline std::uint32_t fma_fp16_pair(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return fma_pair_on_cpu<format_fp16>(a, b, c);
}

inline std::uint32_t fma_bf16_pair(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return fma_pair_on_cpu<format_bf16>(a, b, c);
}

inline std::uint32_t multiply_add(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a * b + c; }

inline std::uint32_t dot_signed_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  for (int shift = 0; shift < 32; shift += 8) {
    const auto x = static_cast<std::int8_t>(a >> shift);
    const auto y = static_cast<std::int8_t>(b >> shift);
    c += static_cast<std::uint32_t>(x * y);
  }
  return c;
}

inline std::uint64_t load_past_l1(const std::uint64_t* address) { return *address; }

inline double load_written_by_others(const double* address) { return *address; }

// The emulator's own account of memory must not see this counter's traffic, which a GPU keeps in its L2.
__attribute__((no_sanitize("thread"))) inline bool arrive_last(unsigned* arrivals, unsigned total) {
  unsigned before = __atomic_load_n(arrivals, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(arrivals, &before, before + 1 == total ? 0 : before + 1, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return before + 1 == total;
}

#else

// a b + c, rounded once.
__device__ inline std::uint32_t fma_fp16_pair(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

// From compute capability 8.0; 0 below.
__device__ inline std::uint32_t fma_bf16_pair(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
#if __CUDA_ARCH__ >= 800
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
#else
  (void)a, (void)b, (void)c;
#endif
  return result;
}

// a b + c modulo 2^32. Not in C++: the compiler would make one multiplication of a chain of them.
__device__ inline std::uint32_t multiply_add(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

// c plus the sum of products of the four signed bytes of a and b.
__device__ inline std::uint32_t dot_signed_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

// From the L2 cache or what lies behind it, never from the L1 of the SM.
__device__ inline std::uint64_t load_past_l1(const std::uint64_t* address) {
  std::uint64_t value;
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

__device__ inline double load_written_by_others(const double* address) {
  double value;
  asm volatile("ld.volatile.global.f64 %0, [%1];" : "=d"(value) : "l"(address) : "memory");
  return value;
}

// Counts the caller's block; true for the last of `total`, which then sees what the others wrote before. The counter
// is 0 again after the last one, ready for the next launch.
__device__ inline bool arrive_last(unsigned* arrivals, unsigned total) {
  __threadfence();
  const bool last = atomicInc(arrivals, total - 1) == total - 1;
  __threadfence();
  return last;
}

#endif

}  // namespace claimcheck::kernels::cuda

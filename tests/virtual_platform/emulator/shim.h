// Included before the product's kernels when g++ compiles them for the CPU: CUDA's words without nvcc. Types, also
// those of vectors and small floats, are NVIDIA's own headers', which a plain host compiler understands.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/virtual_platform/emulator/threads.h"

#define CLAIMCHECK_VIRTUAL_CPU 1

#undef __shared__
#define __shared__ static thread_local  // a block never leaves its thread
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __noinline__  // NVIDIA's would break the standard library's __attribute__((__noinline__))

inline void __syncthreads() { virtual_platform::block_barrier(); }
inline int __syncthreads_count(int mine) {
  return virtual_platform::block_vote(mine != 0, virtual_platform::Vote::count);
}
inline int __syncthreads_and(int mine) { return virtual_platform::block_vote(mine != 0, virtual_platform::Vote::all); }
inline int __syncthreads_or(int mine) { return virtual_platform::block_vote(mine != 0, virtual_platform::Vote::any); }
inline void __syncwarp(unsigned mask = 0xffffffffU) { virtual_platform::warp_barrier(mask); }
inline unsigned __activemask() { return virtual_platform::active_lanes(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
[[noreturn]] inline void __trap() { virtual_platform::trap("__trap()"); }

namespace virtual_platform {

// The value of lane `source`, or one's own where that is not in the mask.
template <class T>
T shuffle(unsigned mask, T mine, int source) {
  T result = mine;
  const bool takes_part = source >= 0 && source < 32 && ((mask >> source) & 1U) != 0;
  if (const std::byte* all = warp_exchange(mask, &mine, sizeof mine)) {
    if (takes_part) std::memcpy(&result, all + 16 * source, sizeof result);
    return result;
  }
  warp_offer(mask, &mine);
  const void* offered = takes_part ? warp_offered(source) : nullptr;
  if (offered != nullptr) std::memcpy(&result, offered, sizeof result);
  warp_withdraw(mask);
  return result;
}

// The values of all 32 lanes, on each of them.
template <class T>
void warp_gather(const T& mine, T (&all)[32]) {
  warp_offer(0xffffffffU, &mine);
  for (int i = 0; i < 32; ++i)
    if (const void* offered = warp_offered(i)) all[i] = *static_cast<const T*>(offered);
  warp_withdraw(0xffffffffU);
}

inline std::uint32_t ballot(std::uint32_t mask, bool mine) {
  warp_offer(mask, &mine);
  std::uint32_t votes = 0;
  for (int i = 0; i < 32; ++i) {
    const void* offered = ((mask >> i) & 1U) != 0 ? warp_offered(i) : nullptr;
    if (offered != nullptr && *static_cast<const bool*>(offered)) votes |= 1U << i;
  }
  warp_withdraw(mask);
  return votes;
}

}  // namespace virtual_platform

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int first = virtual_platform::lane() & ~(width - 1);
  return virtual_platform::shuffle(mask, value, first + (source & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const int lane = virtual_platform::lane();
  const bool inside = (lane & (width - 1)) >= static_cast<int>(distance);
  return virtual_platform::shuffle(mask, value, inside ? lane - static_cast<int>(distance) : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const int lane = virtual_platform::lane();
  const bool inside = (lane & (width - 1)) + static_cast<int>(distance) < width;
  return virtual_platform::shuffle(mask, value, inside ? lane + static_cast<int>(distance) : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = virtual_platform::lane();
  const int source = lane ^ bits;
  return virtual_platform::shuffle(mask, value, (source & ~(width - 1)) <= (lane & ~(width - 1)) ? source : lane);
}
inline unsigned __ballot_sync(unsigned mask, int mine) { return virtual_platform::ballot(mask, mine != 0); }
inline int __any_sync(unsigned mask, int mine) { return static_cast<int>(__ballot_sync(mask, mine) != 0); }
inline int __all_sync(unsigned mask, int mine) { return static_cast<int>(__ballot_sync(mask, !mine) == 0); }

using std::max;
using std::min;

// Copies by the SMs: device memory, pinned host memory and that of peers, wherever the addresses point.
#pragma once

#include <vector_types.h>

#include <cstdint>

namespace claimcheck::kernels::cuda {

inline constexpr int copy_threads = 256;
inline constexpr int copy_blocks = 4;  // at least so many fit an SM
inline constexpr int copy_unroll = 8;  // links to a host or peer have long ways: many loads in flight

// `count` 16-byte words, then up to 15 bytes.
__global__ void __launch_bounds__(copy_threads, copy_blocks)
    copy_words(uint4* __restrict__ target, const uint4* __restrict__ source, std::uint64_t count, unsigned rest_bytes) {
  constexpr std::uint64_t tile = copy_threads * copy_unroll;
  for (std::uint64_t first = blockIdx.x * tile; first < count; first += gridDim.x * tile) {
    const std::uint64_t mine = first + threadIdx.x;
    const bool whole = first + tile <= count;
    uint4 x[copy_unroll] = {};
#pragma unroll
    for (int u = 0; u < copy_unroll; ++u) {
      const std::uint64_t i = mine + u * copy_threads;
      if (!whole && i >= count) break;
      x[u] = source[i];
    }
#pragma unroll
    for (int u = 0; u < copy_unroll; ++u) {
      const std::uint64_t i = mine + u * copy_threads;
      if (!whole && i >= count) break;
      target[i] = x[u];
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < rest_bytes)
    reinterpret_cast<unsigned char*>(target + count)[threadIdx.x] =
        reinterpret_cast<const unsigned char*>(source + count)[threadIdx.x];
}

}  // namespace claimcheck::kernels::cuda

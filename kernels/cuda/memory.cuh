// STREAM-like kernels on doubles. Every thread has several 16-byte loads in flight; blocks stay resident and stride
// over the arrays, since a GPU's memory needs some 100 KB on their way in each SM to be kept busy.
#pragma once

#include <vector_types.h>

#include <cstdint>

#include "kernels/cuda/instructions.cuh"
#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

inline constexpr int memory_threads = 256;
inline constexpr int memory_blocks = 4;  // at least so many fit an SM: 64 registers a thread
inline constexpr int memory_unroll = 4;  // loads of one array in flight
inline constexpr int read_unroll = 8;
// Partial sums of one launch; no grid is larger.
inline constexpr int most_partial_sums = 4096;

template <MemoryKernel kernel>
__device__ inline double memory_result(double a, double b, double scalar) {
  if constexpr (kernel == MemoryKernel::write) return scalar;
  if constexpr (kernel == MemoryKernel::copy) return a;
  if constexpr (kernel == MemoryKernel::scale) return scalar * a;
  if constexpr (kernel == MemoryKernel::add) return a + b;
  if constexpr (kernel == MemoryKernel::triad) return a + scalar * b;
}

// `count` is in pairs of doubles. Unused arrays may be null.
template <MemoryKernel kernel>
__global__ void __launch_bounds__(memory_threads, memory_blocks)
    memory_pass(const double2* __restrict__ a, const double2* __restrict__ b, double2* __restrict__ c, double scalar,
                std::uint64_t count) {
  constexpr bool uses_a = kernel != MemoryKernel::write;
  constexpr bool uses_b = kernel == MemoryKernel::add || kernel == MemoryKernel::triad;
  constexpr std::uint64_t tile = memory_threads * memory_unroll;
  for (std::uint64_t first = blockIdx.x * tile; first < count; first += gridDim.x * tile) {
    const std::uint64_t mine = first + threadIdx.x;
    const bool whole = first + tile <= count;
    double2 x[memory_unroll] = {};
    double2 y[memory_unroll] = {};
#pragma unroll
    for (int u = 0; u < memory_unroll; ++u) {
      const std::uint64_t i = mine + u * memory_threads;
      if (!whole && i >= count) break;
      if constexpr (uses_a) x[u] = a[i];
      if constexpr (uses_b) y[u] = b[i];
    }
#pragma unroll
    for (int u = 0; u < memory_unroll; ++u) {
      const std::uint64_t i = mine + u * memory_threads;
      if (!whole && i >= count) break;
      c[i] = double2{memory_result<kernel>(x[u].x, y[u].x, scalar), memory_result<kernel>(x[u].y, y[u].y, scalar)};
    }
  }
}

// The sum over a block of memory_threads, on its first thread.
__device__ inline double block_sum(double mine) {
  __shared__ double of_warps[memory_threads / 32];
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(0xffffffffU, mine, distance);
  __syncthreads();  // an earlier call may still be reading
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (const double of_warp : of_warps) sum += of_warp;
  return sum;
}

// The same additions in the same order at each launch with the same grid. The block that is last to end adds the
// partial sums of all, so one launch suffices; `arrivals` is 0 before and after.
__global__ void __launch_bounds__(memory_threads, memory_blocks)
    memory_sum(const double2* __restrict__ a, std::uint64_t count, double* partial_sums, unsigned* arrivals,
               double* result) {
  constexpr std::uint64_t tile = memory_threads * read_unroll;
  double sums[read_unroll] = {};
  std::uint64_t first = blockIdx.x * tile;
  for (; first + tile <= count; first += gridDim.x * tile) {
    double2 x[read_unroll];
#pragma unroll
    for (int u = 0; u < read_unroll; ++u) x[u] = a[first + threadIdx.x + u * memory_threads];
#pragma unroll
    for (int u = 0; u < read_unroll; ++u) sums[u] += x[u].x + x[u].y;
  }
  for (std::uint64_t i = first + threadIdx.x; i < count; i += memory_threads)  // one block at most has a rest
    sums[0] += a[i].x + a[i].y;
  double mine = 0;
  for (const double sum : sums) mine += sum;
  const double of_block = block_sum(mine);

  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial_sums[blockIdx.x] = of_block;
    is_last = arrive_last(arrivals, gridDim.x);
  }
  __syncthreads();
  if (!is_last) return;
  double of_all = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += memory_threads) of_all += load_written_by_others(partial_sums + i);
  of_all = block_sum(of_all);
  if (threadIdx.x == 0) *result = of_all;
}

// How many 8-byte words of two arrays differ, summed as memory_sum does it. `count` is in pairs of words.
__global__ void __launch_bounds__(memory_threads, memory_blocks)
    count_differences(const ulonglong2* __restrict__ a, const ulonglong2* __restrict__ b, std::uint64_t count,
                      double* partial_sums, unsigned* arrivals, double* result) {
  constexpr std::uint64_t tile = memory_threads * memory_unroll;
  double mine = 0;
  for (std::uint64_t first = blockIdx.x * tile; first < count; first += gridDim.x * tile) {
#pragma unroll
    for (int u = 0; u < memory_unroll; ++u) {
      const std::uint64_t i = first + threadIdx.x + u * memory_threads;
      if (i >= count) break;
      const ulonglong2 x = a[i];
      const ulonglong2 y = b[i];
      mine += (x.x != y.x ? 1 : 0) + (x.y != y.y ? 1 : 0);
    }
  }
  const double of_block = block_sum(mine);

  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial_sums[blockIdx.x] = of_block;
    is_last = arrive_last(arrivals, gridDim.x);
  }
  __syncthreads();
  if (!is_last) return;
  double of_all = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += memory_threads) of_all += load_written_by_others(partial_sums + i);
  of_all = block_sum(of_all);
  if (threadIdx.x == 0) *result = of_all;
}

}  // namespace claimcheck::kernels::cuda

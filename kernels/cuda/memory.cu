#include "kernels/cuda/grid.h"
#include "kernels/cuda/memory.cuh"

namespace claimcheck::kernels::cuda {

namespace {

template <MemoryKernel kernel>
void launch_kernel(const Launch& launch, const void* a, const void* b, void* c, double scalar, std::uint64_t count) {
  constexpr std::uint64_t tile = memory_threads * memory_unroll;
  const unsigned blocks = resident_blocks(launch, memory_pass<kernel>, memory_threads, (count + tile - 1) / tile);
  memory_pass<kernel><<<blocks, memory_threads, 0, launch.stream>>>(
      static_cast<const double2*>(a), static_cast<const double2*>(b), static_cast<double2*>(c), scalar, count);
}

}  // namespace

void launch_memory(const Launch& launch, MemoryKernel kernel, const void* a, const void* b, void* c, double scalar,
                   std::size_t bytes) {
  const std::uint64_t count = bytes / sizeof(double2);
  switch (kernel) {
    case MemoryKernel::read:
      break;  // launch_sum()
    case MemoryKernel::write:
      launch_kernel<MemoryKernel::write>(launch, a, b, c, scalar, count);
      break;
    case MemoryKernel::copy:
      launch_kernel<MemoryKernel::copy>(launch, a, b, c, scalar, count);
      break;
    case MemoryKernel::scale:
      launch_kernel<MemoryKernel::scale>(launch, a, b, c, scalar, count);
      break;
    case MemoryKernel::add:
      launch_kernel<MemoryKernel::add>(launch, a, b, c, scalar, count);
      break;
    case MemoryKernel::triad:
      launch_kernel<MemoryKernel::triad>(launch, a, b, c, scalar, count);
      break;
  }
  check(cudaGetLastError());
}

// The partial sums, and behind them the counter of blocks that have ended.
std::size_t sum_scratch_bytes() { return most_partial_sums * sizeof(double) + sizeof(double); }

void launch_compare(const Launch& launch, const void* a, const void* b, std::size_t bytes, void* scratch, void* count) {
  const std::uint64_t pairs = bytes / sizeof(ulonglong2);
  constexpr std::uint64_t tile = memory_threads * memory_unroll;
  const std::uint64_t parts = std::min<std::uint64_t>((pairs + tile - 1) / tile, most_partial_sums);
  auto* const partial_sums = static_cast<double*>(scratch);
  auto* const arrivals = reinterpret_cast<unsigned*>(partial_sums + most_partial_sums);
  count_differences<<<resident_blocks(launch, count_differences, memory_threads, parts), memory_threads, 0,
                      launch.stream>>>(static_cast<const ulonglong2*>(a), static_cast<const ulonglong2*>(b), pairs,
                                       partial_sums, arrivals, static_cast<double*>(count));
  check(cudaGetLastError());
}

void launch_sum(const Launch& launch, const void* array, std::size_t bytes, void* scratch, void* result) {
  const std::uint64_t count = bytes / sizeof(double2);
  constexpr std::uint64_t tile = memory_threads * read_unroll;
  const std::uint64_t parts = std::min<std::uint64_t>((count + tile - 1) / tile, most_partial_sums);
  auto* const partial_sums = static_cast<double*>(scratch);
  auto* const arrivals = reinterpret_cast<unsigned*>(partial_sums + most_partial_sums);
  memory_sum<<<resident_blocks(launch, memory_sum, memory_threads, parts), memory_threads, 0, launch.stream>>>(
      static_cast<const double2*>(array), count, partial_sums, arrivals, static_cast<double*>(result));
  check(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda

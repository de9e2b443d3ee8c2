#include "kernels/cuda/copy.cuh"
#include "kernels/cuda/grid.h"

namespace claimcheck::kernels::cuda {

void launch_copy(const Launch& launch, void* target, const void* source, std::size_t bytes) {
  const std::uint64_t count = bytes / sizeof(uint4);
  constexpr std::uint64_t tile = copy_threads * copy_unroll;
  const unsigned blocks = resident_blocks(launch, copy_words, copy_threads, (count + tile - 1) / tile);
  copy_words<<<blocks, copy_threads, 0, launch.stream>>>(static_cast<uint4*>(target), static_cast<const uint4*>(source),
                                                         count, static_cast<unsigned>(bytes % sizeof(uint4)));
  check(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda

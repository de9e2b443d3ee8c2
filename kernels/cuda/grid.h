// Sizes of grids for .cu files.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/error.h"
#include "kernels/cuda/launches.h"

namespace claimcheck::kernels::cuda {

// As many blocks as the GPU holds at once, or as the work has parts, when these are fewer; at least one. Blocks that
// stay and stride over the work save the start of new ones, and leave no last wave that fills half of the GPU.
template <class Kernel>
unsigned resident_blocks(const Launch& launch, Kernel* kernel, int threads, std::uint64_t parts) {
  int blocks_per_multiprocessor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_multiprocessor, reinterpret_cast<const void*>(kernel),
                                                      threads, 0));
  const auto resident = static_cast<std::uint64_t>(std::max(blocks_per_multiprocessor * launch.multiprocessors, 1));
  return static_cast<unsigned>(std::clamp<std::uint64_t>(parts, 1, resident));
}

}  // namespace claimcheck::kernels::cuda

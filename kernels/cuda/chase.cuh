// Latency of one load: a thread follows a chain of indices, each load waiting for the one before.
#pragma once

#include <cstdint>

#include "kernels/cuda/instructions.cuh"

namespace claimcheck::kernels::cuda {

// Past the L1, so that lists smaller than the L2 show the L2's latency.
__global__ void chase_list(const std::uint64_t* list, std::int64_t loads, std::uint64_t* last) {
  std::uint64_t index = 0;
#pragma unroll 8
  for (std::int64_t load = 0; load < loads; ++load) index = load_past_l1(list + index);
  *last = index;
}

}  // namespace claimcheck::kernels::cuda

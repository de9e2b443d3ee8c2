#include "kernels/cuda/chase.cuh"
#include "kernels/cuda/error.h"
#include "kernels/cuda/launches.h"

namespace claimcheck::kernels::cuda {

void launch_chase(const Launch& launch, const void* list, std::int64_t loads, void* last) {
  chase_list<<<1, 1, 0, launch.stream>>>(static_cast<const std::uint64_t*>(list), loads,
                                         static_cast<std::uint64_t*>(last));
  check(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda

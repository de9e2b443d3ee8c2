#include "kernels/cuda/empty.cuh"
#include "kernels/cuda/error.h"
#include "kernels/cuda/launches.h"

namespace claimcheck::kernels::cuda {

void launch_nothing(const Launch& launch) {
  do_nothing<<<1, 1, 0, launch.stream>>>();
  check(cudaGetLastError());
}

int compiled_capability(int gpu_capability) {
  int best = 0;
  for (const int architecture : {__CUDA_ARCH_LIST__}) {  // nvcc's: 750, 800, ...
    const int capability = architecture / 10;
    if (capability <= gpu_capability && capability > best) best = capability;
  }
  return best;
}

}  // namespace claimcheck::kernels::cuda

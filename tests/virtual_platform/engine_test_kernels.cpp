// Compiled with emulator/shim.h in front and -fsanitize=thread, whose hooks are emulator/hooks.cpp.
#include "tests/virtual_platform/engine_test_kernels.h"

#include "tests/virtual_platform/emulator/call.h"

namespace virtual_platform::test {

__global__ void scale(double* to, const double* from, double factor, long count) {
  const long stride = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = factor * from[i];
}

__global__ void increment(double* values, long count) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
}

__global__ void reverse(int* values) {
  __shared__ int copy[256];
  copy[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

__global__ void warp_sum(const int* values, int* sums) {
  int sum = values[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffU, sum, distance);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
}

__global__ void through_scratch(int* scratch, const int* from, int* to) {
  scratch[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

__global__ void gather(int* out) {
  struct Value {
    int lane;
    int square;
  };
  const int lane = static_cast<int>(threadIdx.x);
  Value all[32];
  warp_gather(Value{lane, lane * lane}, all);
  out[lane] = all[31 - lane].square;
}

__global__ void half_barrier(int* out) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __shfl_sync(0xffffffffU, 1, 0);
  out[threadIdx.x] = 1;
}

__global__ void by_memory(int** address) { **address = 1; }

const CompiledKernel scale_kernel = Call<&scale>::named("scale");
const CompiledKernel increment_kernel = Call<&increment>::named("increment");
const CompiledKernel reverse_kernel = Call<&reverse>::named("reverse");
const CompiledKernel warp_sum_kernel = Call<&warp_sum>::named("warp_sum");
const CompiledKernel scratch_kernel = Call<&through_scratch>::named("through_scratch");
const CompiledKernel gather_kernel = Call<&gather>::named("gather");
const CompiledKernel half_barrier_kernel = Call<&half_barrier>::named("half_barrier");
const CompiledKernel by_memory_kernel = Call<&by_memory>::named("by_memory");

}  // namespace virtual_platform::test

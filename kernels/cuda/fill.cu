#include "kernels/cuda/fill.cuh"
#include "kernels/cuda/grid.h"

namespace claimcheck::kernels::cuda {

namespace {

template <DataType type>
void launch_type(const Launch& launch, void* target, std::size_t elements, std::uint64_t key) {
  const std::uint64_t pairs = (elements + 1) / 2;
  const std::uint64_t parts = (pairs + fill_threads - 1) / fill_threads;
  fill_normal<type>
      <<<resident_blocks(launch, fill_normal<type>, fill_threads, parts), fill_threads, 0, launch.stream>>>(
          target, elements, key);
}

}  // namespace

void launch_fill(const Launch& launch, void* target, std::size_t elements, DataType type, std::uint64_t seed) {
  const std::uint64_t key = normal_key(seed);
  switch (type) {
    case DataType::fp64:
      launch_type<DataType::fp64>(launch, target, elements, key);
      break;
    case DataType::fp32:
      launch_type<DataType::fp32>(launch, target, elements, key);
      break;
    case DataType::tf32:
      launch_type<DataType::tf32>(launch, target, elements, key);
      break;
    case DataType::fp16:
      launch_type<DataType::fp16>(launch, target, elements, key);
      break;
    case DataType::bf16:
      launch_type<DataType::bf16>(launch, target, elements, key);
      break;
    case DataType::fp8_e4m3:
      launch_type<DataType::fp8_e4m3>(launch, target, elements, key);
      break;
    case DataType::fp8_e5m2:
      launch_type<DataType::fp8_e5m2>(launch, target, elements, key);
      break;
    case DataType::fp4:
      launch_type<DataType::fp4>(launch, target, elements, key);
      break;
    case DataType::int8:
      launch_type<DataType::int8>(launch, target, elements, key);
      break;
    case DataType::int32:
      launch_type<DataType::int32>(launch, target, elements, key);
      break;
  }
  check(cudaGetLastError());
}

}  // namespace claimcheck::kernels::cuda

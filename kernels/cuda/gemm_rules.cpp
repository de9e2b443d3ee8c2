#include "kernels/cuda/gemm_rules.h"

#include <fmt/format.h>

namespace claimcheck::kernels::cuda {

namespace {

// The first architecture with units for the type, and the first version of cuBLAS with kernels for it.
struct Needs {
  int capability = 0;
  std::size_t library = 0;
  int m_and_n = 1;  // m and n are multiples of this, k of the next
  int k = 1;
};

Needs needs_of(DataType type) {
  switch (type) {
    case DataType::tf32:
    case DataType::bf16:
      return {.capability = 80};
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
      return {.capability = 89, .library = 120100, .m_and_n = 16, .k = 16};
    case DataType::fp4:
      return {.capability = 100, .library = 120800, .m_and_n = 32, .k = 32};
    case DataType::int8:
      return {.capability = 72, .m_and_n = 4, .k = 4};
    default:
      return {};
  }
}

void check_needs(DataType type, const GemmShape& shape, int capability, std::size_t library) {
  const Needs needs = needs_of(type);
  const std::string_view name = to_string(type);
  if (capability < needs.capability)
    throw unsupported(fmt::format("{} needs compute capability {}.{}; this GPU has {}.{}", name, needs.capability / 10,
                                  needs.capability % 10, capability / 10, capability % 10));
  if (library < needs.library)
    throw unsupported(
        fmt::format("{} needs cuBLASLt {}; this is {}", name, cublas_version(needs.library), cublas_version(library)),
        "use a newer CUDA toolkit");
  if (shape.m % needs.m_and_n != 0 || shape.n % needs.m_and_n != 0 || shape.k % needs.k != 0)
    throw unsupported(
        fmt::format("layout rule: products in {} want m and n that are multiples of {} and k of {}; this "
                    "is {} x {} x {}",
                    name, needs.m_and_n, needs.k, shape.m, shape.n, shape.k));
}

GemmTypes fp4_types() {
#if CUBLAS_VERSION >= 120800
  return {.a = CUDA_R_4F_E2M1, .b = CUDA_R_4F_E2M1, .c = CUDA_R_16BF, .output = DataType::bf16, .scaled_blocks = true};
#else
  throw unsupported(
      fmt::format("fp4 needs cuBLASLt 12.8; this worker was built with {}", cublas_version(CUBLAS_VERSION)),
      "build it with a newer CUDA toolkit");
#endif
}

}  // namespace

std::string cublas_version(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::size_t block_scales(std::int64_t outer, std::int64_t k) {
  const std::int64_t rows = (outer + 127) / 128 * 128;
  const std::int64_t columns = (k / 16 + 3) / 4 * 4;
  return static_cast<std::size_t>(rows * columns);
}

GemmTypes gemm_types(DataType type, const GemmShape& shape, int capability, std::size_t library) {
  check_needs(type, shape, capability, library);
  GemmTypes types;
  types.output = type;
  switch (type) {
    case DataType::fp64:
      types.a = types.b = types.c = types.scale = CUDA_R_64F;
      types.compute = CUBLAS_COMPUTE_64F;
      return types;
    case DataType::fp32:
      return types;
    case DataType::tf32:
      types.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
      types.output = DataType::fp32;
      return types;
    case DataType::fp16:
      types.a = types.b = types.c = CUDA_R_16F;
      return types;
    case DataType::bf16:
      types.a = types.b = types.c = CUDA_R_16BF;
      return types;
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
      // The library has no e5m2 x e5m2: of a gradient (e5m2) and a weight or activation (e4m3) one is always e4m3.
      types.a = type == DataType::fp8_e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
      types.b = CUDA_R_8F_E4M3;
      types.c = CUDA_R_16BF;
      types.output = DataType::bf16;
      types.scaled_tensors = true;
      return types;
    case DataType::int8:
      types.a = types.b = CUDA_R_8I;
      types.c = types.scale = CUDA_R_32I;
      types.compute = CUBLAS_COMPUTE_32I;
      types.output = DataType::int32;
      return types;
    case DataType::fp4:
      return fp4_types();
    case DataType::int32:
      break;
  }
  throw unsupported(fmt::format("cuBLASLt has no products in {}", to_string(type)));
}

}  // namespace claimcheck::kernels::cuda

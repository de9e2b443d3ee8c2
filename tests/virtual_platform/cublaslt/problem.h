// A matrix product as cuBLASLt describes it: D = alpha op(A) op(B) + beta C, all matrices in column-major order.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/data_type.h"
#include "tests/virtual_platform/engine/spec.h"

namespace virtual_platform::cublaslt {

using claimcheck::kernels::DataType;

// cublasLtMatmulMatrixScale_t, which libraries before 12.8 do not have.
constexpr std::int32_t one_scale = 0;
constexpr std::int32_t scale_of_16 = 1;  // VEC16_UE4M3

struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;  // elements from one matrix of the batch to the next

  std::size_t matrix_elements() const { return (columns - 1) * static_cast<std::size_t>(leading) + rows; }
  std::size_t bytes() const;  // from the first to the last element of all; 0 for a type that is not known here
};

struct Description {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  cublasOperation_t transpose_a = CUBLAS_OP_N;
  cublasOperation_t transpose_b = CUBLAS_OP_N;
  const void* scale_a = nullptr;  // in device memory: one float, or the scales of blocks
  const void* scale_b = nullptr;
  std::int32_t scale_mode_a = one_scale;
  std::int32_t scale_mode_b = one_scale;
};

struct Problem {
  Description description;
  Layout a;
  Layout b;
  Layout c;
  Layout d;

  std::uint64_t m() const { return d.rows; }
  std::uint64_t n() const { return d.columns; }
  std::uint64_t k() const { return description.transpose_a == CUBLAS_OP_N ? a.columns : a.rows; }
  double flop() const {
    return 2.0 * static_cast<double>(m()) * static_cast<double>(n()) * static_cast<double>(k()) * d.batch;
  }
};

std::optional<DataType> data_type(cudaDataType_t type);
// The key in the spec's rates; empty: no such product exists in this library.
std::string_view rate_key(const Problem& problem, int capability);

// Whether the library does it on this GPU, as its documentation ("cublasLtMatmul: supported data types") lists it.
cublasStatus_t support(const Problem& problem, const Gpu& gpu);

}  // namespace virtual_platform::cublaslt

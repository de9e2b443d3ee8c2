// Which products cuBLASLt is asked for, and why some cannot be: by architecture, by the library's version, by layout.
// Pure. Sources: cuBLAS documentation, "cublasLtMatmul()", its tables of types and its requirements.
#pragma once

#include <cublasLt.h>

#include <optional>
#include <string>

#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

struct GemmTypes {
  cudaDataType_t a = CUDA_R_32F;
  cudaDataType_t b = CUDA_R_32F;
  cudaDataType_t c = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;  // of alpha and beta
  DataType output = DataType::fp32;
  bool scaled_tensors = false;  // fp8: one factor for each operand
  bool scaled_blocks = false;   // fp4: one factor for every 16 values along k
};

// Throws unsupported with the reason. `library` is what cublasLtGetVersion() says, `capability` 10 x major + minor.
GemmTypes gemm_types(DataType type, const GemmShape& shape, int capability, std::size_t library);

std::string cublas_version(std::size_t number);  // 130100 -> "13.1.0"

// Bytes of the block factors of an operand with `outer` rows of k values: tiles of 128 x 4 factors, padded.
// Source: cuBLAS documentation, "1D Block Scaling Factors Layout".
std::size_t block_scales(std::int64_t outer, std::int64_t k);

}  // namespace claimcheck::kernels::cuda

#include "tests/virtual_platform/cublaslt/problem.h"

#include <algorithm>
#include <initializer_list>

namespace virtual_platform::cublaslt {
namespace {

bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool is_one_of(cudaDataType_t type, std::initializer_list<cudaDataType_t> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_tn(const Description& description) {
  return description.transpose_a == CUBLAS_OP_T && description.transpose_b == CUBLAS_OP_N;
}

bool are_multiples(const Problem& problem, std::uint64_t of) {
  return problem.m() % of == 0 && problem.n() % of == 0 && problem.k() % of == 0;
}

std::string_view float_key(const Problem& problem, int capability) {
  const cudaDataType_t in = problem.a.type;
  const cudaDataType_t out = problem.d.type;
  switch (in) {
    case CUDA_R_32F:
      if (out != CUDA_R_32F) return {};
      // Before Ampere "fast" changes nothing.
      return problem.description.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && capability >= 80 ? "tf32" : "fp32";
    case CUDA_R_16F:
      return is_one_of(out, {CUDA_R_16F, CUDA_R_32F}) ? "fp16" : "";
    case CUDA_R_16BF:
      return is_one_of(out, {CUDA_R_16BF, CUDA_R_32F}) ? "bf16" : "";
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      if (!is_one_of(out, {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F})) return {};
      return in == CUDA_R_8F_E5M2 || problem.b.type == CUDA_R_8F_E5M2 ? "fp8_e5m2" : "fp8_e4m3";
#if CUBLAS_VERSION >= 120800
    case CUDA_R_4F_E2M1:
      return is_one_of(out, {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F}) ? "fp4" : "";
#endif
    default:
      return {};
  }
}

// Sizes that must fit: op(A) is m x k, op(B) k x n, C and D m x n.
bool sizes_fit(const Problem& problem) {
  const auto fits = [&problem](const Layout& layout, bool transposed, std::uint64_t rows, std::uint64_t columns) {
    return layout.rows == (transposed ? columns : rows) && layout.columns == (transposed ? rows : columns) &&
           layout.leading >= static_cast<std::int64_t>(layout.rows) && layout.batch == problem.d.batch;
  };
  const Description& description = problem.description;
  return fits(problem.a, description.transpose_a != CUBLAS_OP_N, problem.m(), problem.k()) &&
         fits(problem.b, description.transpose_b != CUBLAS_OP_N, problem.k(), problem.n()) &&
         fits(problem.c, false, problem.m(), problem.n()) && fits(problem.d, false, problem.m(), problem.n());
}

bool operands_fit(const Problem& problem) {
  if (is_fp8(problem.a.type)) {
    const bool both_e5m2 = problem.a.type == CUDA_R_8F_E5M2 && problem.b.type == CUDA_R_8F_E5M2;
    return is_fp8(problem.b.type) && !both_e5m2;
  }
  return problem.a.type == problem.b.type;
}

// Of layout and alignment, by type and architecture.
bool shape_fits(const Problem& problem, std::string_view key, int capability) {
  // Hopper and Ada multiply fp8 with A transposed only; Blackwell's data centre parts (10.x) take every layout.
  if (key.starts_with("fp8"))
    return are_multiples(problem, 16) && (is_tn(problem.description) || capability / 10 == 10);
  if (key == "int8") return are_multiples(problem, 4);
  if (key == "fp4") {
    const Description& description = problem.description;
    return are_multiples(problem, 32) && is_tn(description) && description.scale_mode_a == scale_of_16 &&
           description.scale_mode_b == scale_of_16;
  }
  return true;
}

int least_capability(std::string_view key) {
  if (key == "fp4") return 100;
  if (key.starts_with("fp8")) return 89;
  return key == "bf16" || key == "tf32" ? 80 : 0;
}

}  // namespace

std::optional<DataType> data_type(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return DataType::fp64;
    case CUDA_R_32F:
      return DataType::fp32;
    case CUDA_R_16F:
      return DataType::fp16;
    case CUDA_R_16BF:
      return DataType::bf16;
    case CUDA_R_8F_E4M3:
      return DataType::fp8_e4m3;
    case CUDA_R_8F_E5M2:
      return DataType::fp8_e5m2;
#if CUBLAS_VERSION >= 120800
    case CUDA_R_4F_E2M1:
      return DataType::fp4;
#endif
    case CUDA_R_8I:
      return DataType::int8;
    case CUDA_R_32I:
      return DataType::int32;
    default:
      return std::nullopt;
  }
}

std::size_t Layout::bytes() const {
  const std::optional<DataType> known = data_type(type);
  if (!known || rows == 0 || columns == 0) return 0;
  const std::size_t before_last = static_cast<std::size_t>(batch - 1) * static_cast<std::size_t>(stride);
  return claimcheck::kernels::storage_bytes(*known, before_last + matrix_elements());
}

std::string_view rate_key(const Problem& problem, int capability) {
  const Description& description = problem.description;
  switch (description.compute) {
    case CUBLAS_COMPUTE_64F:
      return problem.a.type == CUDA_R_64F && problem.d.type == CUDA_R_64F ? "fp64" : "";
    case CUBLAS_COMPUTE_32I:
      return problem.a.type == CUDA_R_8I && problem.d.type == CUDA_R_32I && description.scale == CUDA_R_32I ? "int8"
                                                                                                            : "";
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return description.scale == CUDA_R_32F ? float_key(problem, capability) : "";
    default:
      return {};
  }
}

cublasStatus_t support(const Problem& problem, const Gpu& gpu) {
  if (!sizes_fit(problem) || problem.k() == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const std::string_view key = rate_key(problem, gpu.compute_capability);
  const bool possible = !key.empty() && operands_fit(problem) && problem.c.type == problem.d.type &&
                        gpu.compute_capability >= least_capability(key) &&
                        gpu.gemm_tflops.count(std::string(key)) != 0 &&
                        shape_fits(problem, key, gpu.compute_capability);
  return possible ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace virtual_platform::cublaslt

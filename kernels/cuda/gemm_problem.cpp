#include "kernels/cuda/gemm_problem.h"

namespace claimcheck::kernels::cuda {

namespace {

std::size_t bytes_of(DataType type, std::int64_t rows, std::int64_t columns) {
  return storage_bytes(type, static_cast<std::size_t>(rows * columns));
}

void lay_out(Layout& layout, cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  check(cublasLtMatrixLayoutCreate(&layout.handle, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows));
}

}  // namespace

template <class Value>
void Problem::set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(description_.handle, attribute, &value, sizeof value));
}

Problem::Problem(const Gpu& gpu, DataType type, const GemmShape& shape)
    : types_(gemm_types(type, shape, gpu.capability, cublasLtGetVersion())), shape_(shape), type_(type) {
  check(cublasLtCreate(&library_.handle));
  check(cublasLtMatmulDescCreate(&description_.handle, types_.compute, types_.scale));
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  const auto& [m, n, k] = shape;
  lay_out(a_, types_.a, k, m);
  lay_out(b_, types_.b, k, n);
  lay_out(c_, types_.c, m, n);
  if (types_.scale == CUDA_R_64F)
    scalars_.set(1.0);
  else if (types_.scale == CUDA_R_32I)
    scalars_.set(std::int32_t{1});
  else
    scalars_.set(1.0F);
  if (types_.scaled_tensors) scale_tensors(gpu);
  if (types_.scaled_blocks) scale_blocks(gpu);
}

std::vector<cublasLtMatmulHeuristicResult_t> Problem::candidates(std::size_t workspace_bytes, int most) const {
  Preference preference;
  check(cublasLtMatmulPreferenceCreate(&preference.handle));
  check(cublasLtMatmulPreferenceSetAttribute(preference.handle, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_.handle, description_.handle, a_.handle, b_.handle, c_.handle, c_.handle,
                                     preference.handle, most, results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status);
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(found) : 0);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

cublasStatus_t Problem::enqueue(const cublasLtMatmulAlgo_t& algorithm, const void* a, const void* b, void* c,
                                void* workspace, std::size_t workspace_bytes, cudaStream_t stream) const {
  return cublasLtMatmul(library_.handle, description_.handle, scalars_.one.data(), a, a_.handle, b, b_.handle,
                        scalars_.zero.data(), c, c_.handle, c, c_.handle, &algorithm, workspace, workspace_bytes,
                        stream);
}

std::size_t Problem::a_bytes() const { return bytes_of(type_, shape_.k, shape_.m); }
std::size_t Problem::b_bytes() const { return bytes_of(type_, shape_.k, shape_.n); }
std::size_t Problem::c_bytes() const { return bytes_of(types_.output, shape_.m, shape_.n); }

void Problem::scale_tensors(const Gpu& gpu) {
  const float one = 1;
  scales_a_ = Scratch(sizeof one);
  CudaStream stream(gpu.ordinal);
  check(cudaMemcpyAsync(scales_a_.address(), &one, sizeof one, cudaMemcpyHostToDevice, stream.handle()));
  stream.wait(gpu.deadline);
  const void* address = scales_a_.address();
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, address);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, address);
}

void Problem::scale_blocks([[maybe_unused]] const Gpu& gpu) {
#if CUBLAS_VERSION >= 120800
  constexpr int one = 0x38;  // 1.0 in UE4M3; all factors are equal, so that their order does not matter
  scales_a_ = Scratch(block_scales(shape_.m, shape_.k));
  scales_b_ = Scratch(block_scales(shape_.n, shape_.k));
  CudaStream stream(gpu.ordinal);
  check(cudaMemsetAsync(scales_a_.address(), one, block_scales(shape_.m, shape_.k), stream.handle()));
  check(cudaMemsetAsync(scales_b_.address(), one, block_scales(shape_.n, shape_.k), stream.handle()));
  stream.wait(gpu.deadline);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
  const void* a = scales_a_.address();
  const void* b = scales_b_.address();
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b);
#endif
}

}  // namespace claimcheck::kernels::cuda

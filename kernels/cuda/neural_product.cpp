#include "kernels/cuda/neural_product.h"

#include <fmt/format.h>

namespace claimcheck::kernels::cuda {

struct RowMajorProducts::Plan {
  Description description;
  Layout a;
  Layout b;
  Layout c;
  cublasLtMatmulAlgo_t algorithm{};
};

namespace {

// A row-major matrix is, column by column, its transpose: C^T = op(B)^T op(A)^T is what the library is asked for.
struct Shape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t leading;
};

Shape stored(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return {columns, rows, leading == 0 ? columns : leading};
}

void make_layout(Layout& layout, cudaDataType_t type, const Shape& shape, std::int64_t batch, std::int64_t stride) {
  check(cublasLtMatrixLayoutCreate(&layout.handle, type, static_cast<std::uint64_t>(shape.rows),
                                   static_cast<std::uint64_t>(shape.columns), shape.leading));
  if (batch == 1) return;
  const auto count = static_cast<std::int32_t>(batch);
  check(cublasLtMatrixLayoutSetAttribute(layout.handle, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  check(cublasLtMatrixLayoutSetAttribute(layout.handle, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                         sizeof stride));
}

}  // namespace

RowMajorProducts::RowMajorProducts(DataType type, std::size_t workspace_bytes)
    : type_(type), workspace_bytes_(workspace_bytes), workspace_(workspace_bytes) {
  check(cublasLtCreate(&library_.handle));
}

RowMajorProducts::~RowMajorProducts() = default;

RowMajorProducts::Key RowMajorProducts::key_of(const Product& p) {
  return {p.m,         p.n,         p.k,     p.transpose_a, p.transpose_b, p.leading_a,
          p.leading_b, p.leading_c, p.batch, p.stride_a,    p.stride_b,    p.stride_c};
}

std::unique_ptr<RowMajorProducts::Plan> RowMajorProducts::make_plan(const Product& p) {
  const cudaDataType_t type = type_ == DataType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
  auto plan = std::make_unique<Plan>();
  check(cublasLtMatmulDescCreate(&plan->description.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t of_b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublasLtMatmulDescSetAttribute(plan->description.handle, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b));
  check(cublasLtMatmulDescSetAttribute(plan->description.handle, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof of_a));
  make_layout(plan->b, type, p.transpose_b ? stored(p.n, p.k, p.leading_b) : stored(p.k, p.n, p.leading_b), p.batch,
              p.stride_b);
  make_layout(plan->a, type, p.transpose_a ? stored(p.k, p.m, p.leading_a) : stored(p.m, p.k, p.leading_a), p.batch,
              p.stride_a);
  make_layout(plan->c, type, stored(p.m, p.n, p.leading_c), p.batch, p.stride_c);
  Preference preference;
  check(cublasLtMatmulPreferenceCreate(&preference.handle));
  check(cublasLtMatmulPreferenceSetAttribute(preference.handle, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes_, sizeof workspace_bytes_));
  // Heads and parts of a matrix begin in the middle of its rows: at multiples of 16 bytes, not of 256.
  const std::uint32_t alignment = 16;
  for (const cublasLtMatmulPreferenceAttributes_t attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    check(cublasLtMatmulPreferenceSetAttribute(preference.handle, attribute, &alignment, sizeof alignment));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library_.handle, plan->description.handle, plan->b.handle, plan->a.handle,
                                     plan->c.handle, plan->c.handle, preference.handle, 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0))
    throw unsupported(
        fmt::format("cuBLASLt has no way to do a product of {} x {} x {} in {}", p.m, p.n, p.k, to_string(type_)));
  check(status);
  plan->algorithm = found.algo;
  return plan;
}

void RowMajorProducts::enqueue(cudaStream_t stream, const Product& product, const void* a, const void* b, void* c) {
  std::unique_ptr<Plan>& plan = plans_[key_of(product)];
  if (!plan) plan = make_plan(product);
  const float beta = product.accumulate ? 1 : 0;
  check(cublasLtMatmul(library_.handle, plan->description.handle, &product.alpha, b, plan->b.handle, a, plan->a.handle,
                       &beta, c, plan->c.handle, c, plan->c.handle, &plan->algorithm, workspace_.address(),
                       workspace_bytes_, stream));
}

}  // namespace claimcheck::kernels::cuda

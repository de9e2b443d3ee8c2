// The fastest of cuBLASLt's algorithms for a product: its first choice is not always the best.
#pragma once

#include "kernels/cuda/gemm_problem.h"

namespace claimcheck::kernels::cuda {

struct Choice {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  double waves = 0;
  int candidates = 0;
  bool tried = false;
};

// Found by a short trial on scratch operands, once per model of GPU and shape, so that equal GPUs do the same work.
// Where a trial would take long or much memory it is the library's first. Throws unsupported with the reason.
Choice choose(const Problem& problem, const Gpu& gpu, DataType type, const GemmShape& shape);

}  // namespace claimcheck::kernels::cuda

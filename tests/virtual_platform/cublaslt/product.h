// The numbers of a matrix product, computed with OpenBLAS from operands rounded as the type says.
#pragma once

#include "tests/virtual_platform/cublaslt/problem.h"

namespace virtual_platform::cublaslt {

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // read when beta is not 0
  void* d = nullptr;
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  double alpha = 1;
  double beta = 0;
};

// Addresses must be accessible. fp64 and int8 are summed in double (int8 exactly), the rest in single precision, as
// GPUs do; then rounded once to the output's type.
void multiply(const Problem& problem, const Operands& operands);

// Bytes of the scales of blocks of 16 values along k; `rows` are A's m or B's n. Tiles of 128 rows by 4 blocks.
std::size_t block_scale_bytes(std::uint64_t rows, std::uint64_t k);

// Products of more floating-point operations take their time but leave the output as it was:
// CLAIMCHECK_VIRTUAL_GEMM_FLOP, 2e10 when not set.
double flop_limit();

}  // namespace virtual_platform::cublaslt

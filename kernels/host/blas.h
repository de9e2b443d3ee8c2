// OpenBLAS behind the Gemm interface, and its one global setting: the number of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

struct BlasFacts {
  std::string version;  // "0.3.21"
  std::string core;     // the kernels chosen for this CPU: "SkylakeX"
  std::string config;   // what openblas_get_config() says
  std::string threading;
};
const BlasFacts& blas_facts();

// One thread for each of `cores`. A single thread is pinned to its core; several are left to the scheduler on
// `all_cpus`, as OpenBLAS starts threads of its own, which inherit the cores of their caller.
// Throws unsupported with the reason.
std::unique_ptr<Gemm> make_blas_gemm(DataType type, const GemmShape& shape, std::vector<int> cores,
                                     std::vector<int> all_cpus);

// A product of row-major fp32 matrices (kernels/neural.h), done by the calling thread and its helpers on `cores`.
void multiply_rows(const Product& product, const float* a, const float* b, float* c, const std::vector<int>& cores,
                   const std::vector<int>& all_cpus);

}  // namespace claimcheck::kernels::host

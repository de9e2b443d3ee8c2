// A matrix product on one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/load.h"

namespace claimcheck::bench {

struct GemmOptions {
  kernels::DataType type = kernels::DataType::fp32;
  kernels::GemmShape shape;
  kernels::Pattern pattern = kernels::Pattern::normal;
  std::size_t limit_bytes = 0;  // of all matrices together
  std::uint64_t seed = 1;
};

// Fills the matrices on `stream`; wait for it before use. Throws unsupported when they do not fit or the device cannot.
std::unique_ptr<Load> make_gemm_load(kernels::Device& device, kernels::Stream& stream, const GemmOptions& options);

}  // namespace claimcheck::bench

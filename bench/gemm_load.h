// A matrix product on one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "bench/load.h"
#include "bench/product.h"

namespace claimcheck::bench {

// Of each set of operands, which are the same on every device: made by the first that is checked, used by all.
using ProductReferences = std::map<std::size_t, ProductReference>;

struct GemmOptions {
  kernels::DataType type = kernels::DataType::fp32;
  kernels::GemmShape shape;
  kernels::Pattern pattern = kernels::Pattern::normal;
  std::size_t limit_bytes = 0;   // of all matrices together
  bool wants_all_units = false;  // a product too small to occupy every unit says so in its conditions (GPUs)
  std::uint64_t seed = 1;
  std::shared_ptr<ProductReferences> references = std::make_shared<ProductReferences>();
};

// Fills the matrices on `stream`; wait for it before use. Throws unsupported when they do not fit or the device cannot.
std::unique_ptr<Load> make_gemm_load(kernels::Device& device, kernels::Stream& stream, const GemmOptions& options);

}  // namespace claimcheck::bench

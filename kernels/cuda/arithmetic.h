// The rates of a GPU's vector and matrix units on registers.
#pragma once

#include <memory>

#include "kernels/cuda/device.h"

namespace claimcheck::kernels::cuda {

// Both throw unsupported with the reason.
std::unique_ptr<VectorChains> make_vector(const Gpu& gpu, VectorOp op);
std::unique_ptr<TensorTiles> make_tensor(const Gpu& gpu, DataType type);

}  // namespace claimcheck::kernels::cuda

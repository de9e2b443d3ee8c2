// What chains of multiply-adds must give (kernels::VectorChains), computed on the host bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

// The type an operation's values have.
kernels::DataType value_type(kernels::VectorOp op);

// `inputs` as stored, of some lanes; the outputs of the same lanes, as stored. fp16 and bf16 are worked out in fp64,
// which holds x x - 1.8125 exactly or far from any tie, and rounded once.
std::vector<std::byte> chains_reference(kernels::VectorOp op, std::span<const std::byte> inputs, int chains,
                                        std::int64_t steps);

}  // namespace claimcheck::bench

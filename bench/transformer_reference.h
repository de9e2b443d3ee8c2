// The transformer of transformer.h once more, in double and plain loops on the host: loss and gradients to compare
// with. For tiny shapes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/transformer.h"

namespace claimcheck::bench {

struct LossAndGradients {
  double loss = 0;
  std::vector<double> gradients;  // in the order of ParameterLayout, 0 in its gaps
};

// `weights` holds ParameterLayout(shape).count values.
LossAndGradients transformer_reference(const TransformerShape& shape, std::span<const double> weights,
                                       std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets);

}  // namespace claimcheck::bench

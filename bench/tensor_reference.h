// What tiles of matrix instructions must give (kernels::TensorTiles): the product in fp64, times the steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/device.h"

namespace claimcheck::bench {

struct Tile {
  kernels::GemmShape shape;
  kernels::DataType input_type = kernels::DataType::fp16;
  kernels::DataType output_type = kernels::DataType::fp32;
  std::int64_t steps = 1;
};

// So many steps that the tolerance below stays under a quarter of an entry.
std::int64_t most_tile_steps(kernels::DataType input_type);

// Throws wrong_result naming `what` and the entry. With u the round-off of the sums, p an entry of the product of one
// step and M the same of absolute values, hardware that cuts off instead of rounding loses at most
//   in step i   2 u max(i |p|, M)    the sum so far, or the terms while they are larger
//   in all      u s^2 |p| + 2 (k + 1) u s M
// beside the rounding of the inputs (tf32 only, at most 2^-9 M a step) and of the output. Integers are exact modulo
// 2^32.
void check_tile(const Tile& tile, std::span<const double> a, std::span<const double> b, std::span<const double> c,
                const std::string& what);

}  // namespace claimcheck::bench

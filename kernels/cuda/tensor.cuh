// The matrix units on registers: one tile per warp, its operands read once.
#pragma once

#include <cstdint>

#include "kernels/cuda/matrix.cuh"

namespace claimcheck::kernels::cuda {

// One block of eight warps per SM: two warps on each of its quarters, with 8 independent products each, are more than
// the 16 to 33 cycles of an instruction need.
inline constexpr int tensor_threads = 256;

template <MatrixInstruction instruction>
__global__ void __launch_bounds__(tensor_threads)
    multiply_tiles(const void* operands_a, const void* operands_b, void* results, std::int64_t steps) {
  if constexpr (has_instruction<instruction>()) {
    using Tile = WarpTile<instruction>;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int group = lane / 4;
    const int place = lane % 4;
    const std::int64_t index = std::int64_t{blockIdx.x} * (tensor_threads / 32) + threadIdx.x / 32;
    const auto* const a = static_cast<const typename Tile::Word*>(operands_a) + index * (Tile::m * Tile::words);
    const auto* const b = static_cast<const typename Tile::Word*>(operands_b) + index * (Tile::n * Tile::words);
    auto* const c = static_cast<typename Tile::Sum*>(results) + index * (Tile::m * Tile::n);
    Tile tile;
    for (int j = 0; j < Tile::word_groups; ++j) {
      for (int h = 0; h < Tile::row_groups; ++h)
        tile.a[j * Tile::row_groups + h] = a[(group + 8 * h) * Tile::words + place + 4 * j];
      for (int product = 0; product < Tile::products; ++product)
        tile.b[product][j] = b[(group + 8 * product) * Tile::words + place + 4 * j];
    }
    for (auto& product : tile.c)
      for (auto& sum : product) sum = 0;
#pragma unroll 4
    for (std::int64_t step = 0; step < steps; ++step) multiply_add_tile<instruction>(tile, lane);
    for (int product = 0; product < Tile::products; ++product)
      for (int h = 0; h < Tile::row_groups; ++h)
        for (int i = 0; i < 2; ++i)
          c[(8 * product + 2 * place + i) * Tile::m + group + 8 * h] = tile.c[product][2 * h + i];
  }
}

}  // namespace claimcheck::kernels::cuda

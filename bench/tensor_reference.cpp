#include "bench/tensor_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/product.h"

namespace claimcheck::bench {

using kernels::DataType;

namespace {

struct Entry {
  double product = 0;    // of one step
  double magnitude = 0;  // the same of absolute values
};

Entry entry_of(const Tile& tile, std::span<const double> a, std::span<const double> b, std::size_t i, std::size_t j) {
  const auto k = static_cast<std::size_t>(tile.shape.k);
  Entry entry;
  for (std::size_t l = 0; l < k; ++l) {
    const double term = a[i * k + l] * b[j * k + l];
    entry.product += term;
    entry.magnitude += std::abs(term);
  }
  return entry;
}

// As int32 holds it.
double wrapped(double product, std::int64_t steps) {
  const std::uint64_t whole = static_cast<std::uint64_t>(std::llround(product)) * static_cast<std::uint64_t>(steps);
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(whole)));
}

double tolerance_of(const Tile& tile, const Entry& entry) {
  const double u = accumulate_roundoff(tile.input_type);
  const auto s = static_cast<double>(tile.steps);
  const auto k = static_cast<double>(tile.shape.k);
  const double inputs = tile.input_type == DataType::tf32 ? 0x1p-9 * s * entry.magnitude : 0;
  return u * s * (s * std::abs(entry.product) + 2 * (k + 1) * entry.magnitude) + inputs +
         kernels::unit_roundoff(tile.output_type) * s * std::abs(entry.product);
}

}  // namespace

std::int64_t most_tile_steps(DataType input_type) {
  constexpr double most = 1 << 20;
  const double u = accumulate_roundoff(input_type);
  return static_cast<std::int64_t>(u == 0 ? most : std::min(most, 0.25 / u));
}

void check_tile(const Tile& tile, std::span<const double> a, std::span<const double> b, std::span<const double> c,
                const std::string& what) {
  const auto m = static_cast<std::size_t>(tile.shape.m);
  const auto n = static_cast<std::size_t>(tile.shape.n);
  const bool integer = tile.output_type == DataType::int32;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < m; ++i) {
      const Entry entry = entry_of(tile, a, b, i, j);
      const double expected =
          integer ? wrapped(entry.product, tile.steps) : static_cast<double>(tile.steps) * entry.product;
      const double tolerance = integer ? 0 : tolerance_of(tile, entry);
      const double found = c[j * m + i];
      // Not written as > so that NaN differs.
      if (!(std::abs(found - expected) <= tolerance))
        throw kernels::wrong_result(fmt::format("{}, entry ({}, {}) is {:.9g}, expected {:.9g} within {:.3g}", what, i,
                                                j, found, expected, tolerance));
    }
}

}  // namespace claimcheck::bench

// The independent reference of a matrix product: Freivalds' check, computed once and held against the product of every
// device that was given the same operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

// A matrix product as it was stored, read in pieces so that it need not fit the host's memory twice.
struct Product {
  // `count` values from element `first` of a, b or c, as doubles.
  using Read = std::function<std::vector<double>(std::size_t first, std::size_t count)>;

  kernels::GemmShape shape;  // layouts: see kernels::GemmShape
  kernels::DataType input_type = kernels::DataType::fp64;
  kernels::DataType output_type = kernels::DataType::fp64;
  Read a;
  Read b;
  Read c;
};

// C x = A (B x) with random x of +1 and -1, row by row for each of 16 groups of columns, and 64 entries in full. Every
// entry of the checked columns takes part with full weight: of up to 4 million entries all columns, of more a random
// one of every 32, which meets every tile a library divides the product into. Tolerances are statistical and for inputs
// of mean 0: the worst case (k u |A| |B|) is loose enough to hide a wrong entry. One entry's rounding error has the
// standard deviation product_error() times the rms of the entries; the sum of a group of g columns may differ by 6 of
// it times sqrt(g), one entry by 16. Integers must be exact.
class ProductReference {
 public:
  // Reads a and b; not c.
  ProductReference(const Product& product, std::uint64_t seed);

  // Throws wrong_result with the place of the first difference.
  void check(const Product::Read& c) const;

  const std::vector<std::size_t>& columns() const { return columns_; }  // that are checked, in order

 private:
  static constexpr std::size_t group_count = 16;
  using Groups = std::array<double, group_count>;
  struct Entry {
    std::size_t row = 0;
    std::size_t column = 0;
    double expected = 0;
  };

  std::vector<Groups> times_signs(const Product::Read& read, std::size_t rows, double* squares) const;
  void sample_entries(const Product& product, std::uint64_t seed);
  std::string name() const;

  kernels::GemmShape shape_;
  kernels::DataType input_type_;
  kernels::DataType output_type_;
  std::vector<std::size_t> columns_;
  std::vector<double> signs_;     // of each checked column
  std::vector<Groups> expected_;  // of each row
  std::vector<Entry> entries_;
  double error_ = 0;
};

// The columns of C that a check with this seed looks at.
std::vector<std::size_t> checked_columns(const kernels::GemmShape& shape, std::uint64_t seed);

// Both at once.
void check_product(const Product& product, std::uint64_t seed);

// Standard deviation of the rounding error of one entry, relative to the rms of the entries:
//   u_accumulate sqrt(k)   k additions onto partial sums that grow to the rms
//   0.5 u_output           rounding to the output type (0.41 for mantissas spread evenly)
//   sqrt(2) u_input        tf32 only: the device rounds both inputs
double product_error(kernels::DataType input_type, kernels::DataType output_type, std::int64_t k);

// Unit round-off of the sums the hardware forms.
double accumulate_roundoff(kernels::DataType input_type);

}  // namespace claimcheck::bench

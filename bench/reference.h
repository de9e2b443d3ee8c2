// Independent references on the host CPU, in double, written as plain loops: what every result is compared with before
// it is timed. Pure functions over values already downloaded; each throws kernels::wrong_result with the place of the
// first difference, and states its tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

// |actual - expected| <= tolerance for every element, and no NaN. `what` starts the sentence: "all_reduce on rank 1".
void check_close(std::span<const double> actual, std::span<const double> expected, double tolerance,
                 const std::string& what);

// Elements `first` and on of one memory kernel but read. a, b: the inputs, empty where the kernel has none; c: what the
// device left. Copies and single operations are exact; triad may be fused or not: 2 u (|a| + |s b|).
void check_memory(kernels::MemoryKernel kernel, std::span<const double> a, std::span<const double> b,
                  std::span<const double> c, double scalar, std::size_t first = 0);

// The sum that the kernel read gives. The device may add in any order: n additions are within (n - 1) u sum|a| (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2).
class ReferenceSum {
 public:
  void add(std::span<const double> values);
  void check(double actual) const;

 private:
  double sum_ = 0;
  double compensation_ = 0;  // Kahan: the reference's own error does not grow with the count
  double magnitude_ = 0;
  std::size_t count_ = 0;
};

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

// Freivalds' check, C x = A (B x) with random x of +1 and -1, row by row for each of 16 groups of columns, and 64
// entries in full. O(n^2) work; every entry of C takes part with full weight. Tolerances are statistical and for inputs
// of mean 0: the worst case (k u |A| |B|) is loose enough to hide a wrong entry. One entry's rounding error has the
// standard deviation product_error() times the rms of the entries; the sum of a group of g columns may differ by 6 of
// it times sqrt(g), one entry by 16. Integers must be exact.
void check_product(const Product& product, std::uint64_t seed);

// Standard deviation of the rounding error of one entry, relative to the rms of the entries:
//   u_accumulate sqrt(k)   k additions onto partial sums that grow to the rms
//   0.5 u_output           rounding to the output type (0.41 for mantissas spread evenly)
//   sqrt(2) u_input        tf32 only: the device rounds both inputs
double product_error(kernels::DataType input_type, kernels::DataType output_type, std::int64_t k);

// Flips bit `bit` (0 is the lowest) of byte `offset` of device memory, through download() and upload().
void flip_bit(kernels::Device& device, kernels::Stream& stream, kernels::Slice where, std::size_t offset, int bit);

// Downloads `count` values from element `first` and decodes them.
std::vector<double> download_values(kernels::Device& device, kernels::Stream& stream, kernels::Slice from,
                                    kernels::DataType type, std::size_t first, std::size_t count);

}  // namespace claimcheck::bench

// Independent references on the host CPU, in double, written as plain loops: what every result is compared with before
// it is timed. Pure functions over values already downloaded; each throws kernels::wrong_result with the place of the
// first difference, and states its tolerance.
#pragma once

#include <cstddef>
#include <cstdint>
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

// Flips bit `bit` (0 is the lowest) of byte `offset` of device memory, through download() and upload().
void flip_bit(kernels::Device& device, kernels::Stream& stream, kernels::Slice where, std::size_t offset, int bit);

// Downloads `count` values from element `first` and decodes them.
std::vector<double> download_values(kernels::Device& device, kernels::Stream& stream, kernels::Slice from,
                                    kernels::DataType type, std::size_t first, std::size_t count);

}  // namespace claimcheck::bench

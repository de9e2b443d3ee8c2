#include "bench/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace claimcheck::bench {

using kernels::DataType;
using kernels::MemoryKernel;

namespace {

// False for NaN on either side as well.
bool within(double actual, double expected, double tolerance) { return std::abs(actual - expected) <= tolerance; }

[[noreturn]] void differs(const std::string& what, const std::string& where, double actual, double expected,
                          double tolerance) {
  const std::string margin = tolerance > 0 ? fmt::format(" within {:.3g}", tolerance) : std::string{};
  throw kernels::wrong_result(
      fmt::format("{}: {} is {:.17g}, expected {:.17g}{}", what, where, actual, expected, margin));
}

double expected_element(MemoryKernel kernel, double a, double b, double scalar) {
  switch (kernel) {
    case MemoryKernel::write:
      return scalar;
    case MemoryKernel::scale:
      return scalar * a;
    case MemoryKernel::add:
      return a + b;
    case MemoryKernel::triad:
      return a + scalar * b;
    case MemoryKernel::copy:
    case MemoryKernel::read:
      break;
  }
  return a;
}

}  // namespace

void check_close(std::span<const double> actual, std::span<const double> expected, double tolerance,
                 const std::string& what) {
  if (actual.size() != expected.size())
    throw kernels::wrong_result(fmt::format("{}: {} elements, expected {}", what, actual.size(), expected.size()));
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!within(actual[i], expected[i], tolerance))
      differs(what, fmt::format("element {}", i), actual[i], expected[i], tolerance);
}

void check_memory(MemoryKernel kernel, std::span<const double> a, std::span<const double> b, std::span<const double> c,
                  double scalar, std::size_t first) {
  const double unit = kernels::unit_roundoff(DataType::fp64);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double x = a.empty() ? 0 : a[i];
    const double y = b.empty() ? 0 : b[i];
    const double expected = expected_element(kernel, x, y, scalar);
    const double tolerance = kernel == MemoryKernel::triad ? 2 * unit * (std::abs(x) + std::abs(scalar * y)) : 0;
    if (!within(c[i], expected, tolerance))
      differs(std::string(to_string(kernel)), fmt::format("element {}", first + i), c[i], expected, tolerance);
  }
}

void ReferenceSum::add(std::span<const double> values) {
  for (const double value : values) {
    const double term = value - compensation_;
    const double next = sum_ + term;
    compensation_ = (next - sum_) - term;
    sum_ = next;
    magnitude_ += std::abs(value);
  }
  count_ += values.size();
}

void ReferenceSum::check(double actual) const {
  const double tolerance = static_cast<double>(count_) * kernels::unit_roundoff(DataType::fp64) * magnitude_;
  if (!within(actual, sum_, tolerance)) differs("read", "the sum", actual, sum_, tolerance);
}

void flip_bit(kernels::Device& device, kernels::Stream& stream, kernels::Slice where, std::size_t offset, int bit) {
  // Kernels want multiples of 16 bytes; a copy of the 16 around the byte keeps every device kind content.
  const std::size_t first = offset / 16 * 16;
  const std::size_t size = std::min<std::size_t>(16, where.size_bytes - first);
  const kernels::Slice piece(*where.buffer, where.offset_bytes + first, size);
  std::array<std::byte, 16> bytes{};
  const std::span<std::byte> used = std::span(bytes).first(size);
  device.download(stream, used, piece);
  bytes[offset - first] ^= std::byte{1} << bit;
  device.upload(stream, piece, used);
}

std::vector<double> download_values(kernels::Device& device, kernels::Stream& stream, kernels::Slice from,
                                    DataType type, std::size_t first, std::size_t count) {
  const std::size_t start = kernels::storage_bytes(type, first);
  const std::size_t size = kernels::storage_bytes(type, count);
  std::vector<std::byte> stored(size);
  device.download(stream, stored, kernels::Slice(*from.buffer, from.offset_bytes + start, size));
  return kernels::decode(type, stored, count);
}

}  // namespace claimcheck::bench

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

// ------------------------------------------------------------------------------------------- matrix products

namespace {

constexpr std::size_t group_count = 16;
constexpr std::size_t sample_count = 64;
constexpr std::size_t values_a_read = std::size_t{1} << 19;  // 4 MiB of doubles

using Groups = std::array<double, group_count>;

// Hands out the columns (rows of A) of a matrix stored as `count` runs of `length` contiguous values, run by run.
template <class Use>
void each_run(const Product::Read& read, std::size_t count, std::size_t length, Use use) {
  const std::size_t runs_a_read = std::max<std::size_t>(1, values_a_read / length);
  for (std::size_t first = 0; first < count; first += runs_a_read) {
    const std::size_t runs = std::min(runs_a_read, count - first);
    const std::vector<double> values = read(first * length, runs * length);
    for (std::size_t run = 0; run < runs; ++run)
      use(first + run, std::span<const double>(values).subspan(run * length, length));
  }
}

double sum_of_squares(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// M x by groups: result[i][g] is row i of M times x over the columns of group g. M's columns are contiguous.
std::vector<Groups> times_signs(const Product::Read& read, std::size_t rows, std::span<const double> signs,
                                double* squares) {
  const std::size_t columns = signs.size();
  std::vector<Groups> result(rows, Groups{});
  std::vector<double> sum(rows, 0.0);
  each_run(read, columns, rows, [&](std::size_t column, std::span<const double> values) {
    for (std::size_t i = 0; i < rows; ++i) sum[i] += signs[column] * values[i];
    if (squares != nullptr) *squares += sum_of_squares(values);
    const std::size_t group = column * group_count / columns;
    if (column + 1 < columns && (column + 1) * group_count / columns == group) return;
    for (std::size_t i = 0; i < rows; ++i) result[i][group] = sum[i];
    std::fill(sum.begin(), sum.end(), 0.0);
  });
  return result;
}

Groups dot(std::span<const double> row, std::span<const Groups> vectors) {
  Groups sum{};
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t g = 0; g < group_count; ++g) sum[g] += row[i] * vectors[i][g];
  return sum;
}

std::string product_name(const Product& product) {
  return fmt::format("gemm {} {}x{}x{}", to_string(product.input_type), product.shape.m, product.shape.n,
                     product.shape.k);
}

void check_entries(const Product& product, double tolerance, std::mt19937_64& random) {
  const auto m = static_cast<std::size_t>(product.shape.m);
  const auto n = static_cast<std::size_t>(product.shape.n);
  const auto k = static_cast<std::size_t>(product.shape.k);
  for (std::size_t sample = 0; sample < sample_count; ++sample) {
    const std::size_t i = random() % m;
    const std::size_t j = random() % n;
    const std::vector<double> row = product.a(i * k, k);
    const std::vector<double> column = product.b(j * k, k);
    double expected = 0;
    for (std::size_t l = 0; l < k; ++l) expected += row[l] * column[l];
    const double actual = product.c(j * m + i, 1)[0];
    if (!within(actual, expected, tolerance))
      differs(product_name(product), fmt::format("entry ({}, {})", i, j), actual, expected, tolerance);
  }
}

// Hardware that multiplies 8 and 4 bit floats may keep about 14 bits of its sums (Hopper: DeepSeek-V3 technical report,
// arXiv 2412.19437); all others accumulate in fp32 or better.
double accumulate_roundoff(DataType input_type) {
  switch (input_type) {
    case DataType::fp64:
      return 0x1p-53;
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
    case DataType::fp4:
      return 0x1p-13;
    case DataType::int8:
    case DataType::int32:
      return 0;
    default:
      return 0x1p-24;
  }
}

}  // namespace

double product_error(DataType input_type, DataType output_type, std::int64_t k) {
  const double rounded_input =
      input_type == DataType::tf32 ? std::sqrt(2.0) * kernels::unit_roundoff(DataType::tf32) : 0;
  return accumulate_roundoff(input_type) * std::sqrt(static_cast<double>(k)) +
         0.5 * kernels::unit_roundoff(output_type) + rounded_input;
}

void check_product(const Product& product, std::uint64_t seed) {
  const auto m = static_cast<std::size_t>(product.shape.m);
  const auto n = static_cast<std::size_t>(product.shape.n);
  const auto k = static_cast<std::size_t>(product.shape.k);
  std::mt19937_64 random(seed);
  std::vector<double> signs(n);
  for (double& sign : signs) sign = (random() >> 63) != 0 ? 1.0 : -1.0;

  double squares_a = 0;
  double squares_b = 0;
  const std::vector<Groups> b_signs = times_signs(product.b, k, signs, &squares_b);
  const std::vector<Groups> actual = times_signs(product.c, m, signs, nullptr);
  std::vector<Groups> expected(m);
  each_run(product.a, m, k, [&](std::size_t row, std::span<const double> values) {
    squares_a += sum_of_squares(values);
    expected[row] = dot(values, b_signs);
  });

  // rms of an entry: rms(A) rms(B) sqrt(k)
  const double rms = std::sqrt(squares_a / static_cast<double>(m * k) * (squares_b / static_cast<double>(n * k)) *
                               static_cast<double>(k));
  const double error = rms * product_error(product.input_type, product.output_type, product.shape.k);
  const double columns_a_group = std::ceil(static_cast<double>(n) / group_count);
  const double tolerance = 6 * error * std::sqrt(columns_a_group);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t g = 0; g < group_count; ++g)
      if (!within(actual[i][g], expected[i][g], tolerance))
        differs(product_name(product),
                fmt::format("the signed sum of row {} in columns {} to {}", i, (g * n + group_count - 1) / group_count,
                            ((g + 1) * n - 1) / group_count),
                actual[i][g], expected[i][g], tolerance);
  check_entries(product, 16 * error, random);
}

// ------------------------------------------------------------------------------------------- device memory

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

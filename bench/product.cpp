#include "bench/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace claimcheck::bench {

using kernels::DataType;

namespace {

constexpr std::size_t sample_count = 64;
constexpr std::size_t values_a_read = std::size_t{1} << 19;  // 4 MiB of doubles
constexpr std::size_t entries_in_full = std::size_t{1} << 22;
constexpr std::size_t columns_a_block = 32;

// False for NaN on either side as well.
bool within(double actual, double expected, double tolerance) { return std::abs(actual - expected) <= tolerance; }

double sum_of_squares(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// Hands out the given columns of a matrix stored as runs of `length` contiguous values, neighbours in one read.
template <class Use>
void each_run(const Product::Read& read, std::span<const std::size_t> columns, std::size_t length, Use use) {
  const std::size_t most = std::max<std::size_t>(1, values_a_read / length);
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t runs = 1;
    while (runs < most && i + runs < columns.size() && columns[i + runs] == columns[i] + runs) ++runs;
    const std::vector<double> values = read(columns[i] * length, runs * length);
    for (std::size_t run = 0; run < runs; ++run)
      use(i + run, std::span<const double>(values).subspan(run * length, length));
    i += runs;
  }
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace

std::vector<std::size_t> checked_columns(const kernels::GemmShape& shape, std::uint64_t seed) {
  const std::size_t n = size_of(shape.n);
  if (size_of(shape.m) * n <= entries_in_full) return all_of(n);
  std::mt19937_64 random(seed);
  std::vector<std::size_t> columns;
  for (std::size_t first = 0; first < n; first += columns_a_block)
    columns.push_back(first + random() % std::min(columns_a_block, n - first));
  return columns;
}

ProductReference::ProductReference(const Product& product, std::uint64_t seed)
    : shape_(product.shape),
      input_type_(product.input_type),
      output_type_(product.output_type),
      columns_(checked_columns(product.shape, seed)) {
  const std::size_t m = size_of(shape_.m);
  const std::size_t k = size_of(shape_.k);
  std::mt19937_64 random(seed + 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) signs_.push_back((random() >> 63) != 0 ? 1.0 : -1.0);

  double squares_a = 0;
  double squares_b = 0;
  const std::vector<Groups> b_signs = times_signs(product.b, k, &squares_b);
  expected_.resize(m);
  each_run(product.a, all_of(m), k, [&](std::size_t row, std::span<const double> values) {
    squares_a += sum_of_squares(values);
    Groups sum{};
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t g = 0; g < group_count; ++g) sum[g] += values[i] * b_signs[i][g];
    expected_[row] = sum;
  });
  // rms of an entry: rms(A) rms(B) sqrt(k)
  const double mean_a = squares_a / static_cast<double>(m * k);
  const double mean_b = squares_b / static_cast<double>(columns_.size() * k);
  error_ =
      std::sqrt(mean_a * mean_b * static_cast<double>(k)) * product_error(input_type_, output_type_, product.shape.k);
  sample_entries(product, seed + 2);
}

// M x by groups: result[i][g] is row i of M times x over the checked columns of group g.
std::vector<ProductReference::Groups> ProductReference::times_signs(const Product::Read& read, std::size_t rows,
                                                                    double* squares) const {
  const std::size_t count = columns_.size();
  std::vector<Groups> result(rows, Groups{});
  std::vector<double> sum(rows, 0.0);
  each_run(read, columns_, rows, [&](std::size_t column, std::span<const double> values) {
    for (std::size_t i = 0; i < rows; ++i) sum[i] += signs_[column] * values[i];
    if (squares != nullptr) *squares += sum_of_squares(values);
    const std::size_t group = column * group_count / count;
    if (column + 1 < count && (column + 1) * group_count / count == group) return;
    for (std::size_t i = 0; i < rows; ++i) result[i][group] = sum[i];
    std::fill(sum.begin(), sum.end(), 0.0);
  });
  return result;
}

void ProductReference::sample_entries(const Product& product, std::uint64_t seed) {
  const std::size_t k = size_of(shape_.k);
  std::mt19937_64 random(seed);
  for (std::size_t sample = 0; sample < sample_count; ++sample) {
    Entry entry;
    entry.row = random() % size_of(shape_.m);
    entry.column = random() % size_of(shape_.n);
    const std::vector<double> row = product.a(entry.row * k, k);
    const std::vector<double> column = product.b(entry.column * k, k);
    for (std::size_t l = 0; l < k; ++l) entry.expected += row[l] * column[l];
    entries_.push_back(entry);
  }
}

std::string ProductReference::name() const {
  return fmt::format("gemm {} {}x{}x{}", to_string(input_type_), shape_.m, shape_.n, shape_.k);
}

void ProductReference::check(const Product::Read& c) const {
  const std::size_t m = size_of(shape_.m);
  const std::size_t count = columns_.size();
  const std::vector<Groups> actual = times_signs(c, m, nullptr);
  const double columns_a_group = std::ceil(static_cast<double>(count) / group_count);
  const double tolerance = 6 * error_ * std::sqrt(columns_a_group);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t g = 0; g < group_count; ++g) {
      if (within(actual[i][g], expected_[i][g], tolerance)) continue;
      const std::size_t first = columns_[(g * count + group_count - 1) / group_count];
      const std::size_t last = columns_[((g + 1) * count - 1) / group_count];
      throw kernels::wrong_result(
          fmt::format("{}: the signed sum of row {} in columns {} to {} is {:.17g}, expected {:.17g} within {:.3g}",
                      name(), i, first, last, actual[i][g], expected_[i][g], tolerance));
    }
  for (const Entry& entry : entries_) {
    const double found = c(entry.column * m + entry.row, 1)[0];
    if (!within(found, entry.expected, 16 * error_))
      throw kernels::wrong_result(fmt::format("{}: entry ({}, {}) is {:.17g}, expected {:.17g} within {:.3g}", name(),
                                              entry.row, entry.column, found, entry.expected, 16 * error_));
  }
}

void check_product(const Product& product, std::uint64_t seed) { ProductReference(product, seed).check(product.c); }

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

double product_error(DataType input_type, DataType output_type, std::int64_t k) {
  const double rounded_input =
      input_type == DataType::tf32 ? std::sqrt(2.0) * kernels::unit_roundoff(DataType::tf32) : 0;
  return accumulate_roundoff(input_type) * std::sqrt(static_cast<double>(k)) +
         0.5 * kernels::unit_roundoff(output_type) + rounded_input;
}

}  // namespace claimcheck::bench

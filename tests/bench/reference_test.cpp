// The references must accept what a right device gives and refuse a single flipped bit anywhere.
#include "bench/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/product.h"

namespace claimcheck::bench {
namespace {

using kernels::DataType;
using kernels::GemmShape;
using kernels::MemoryKernel;

// ---------------------------------------------------------------------------------------------- memory kernels

TEST(CheckMemory, AcceptsEachKernelsOwnArithmetic) {
  const std::vector<double> a = {1, -2, 3};
  const std::vector<double> b = {10, 20, 30};
  const auto accepts = [&](MemoryKernel kernel, const std::vector<double>& c) {
    EXPECT_NO_THROW(check_memory(kernel, a, b, c, 4)) << to_string(kernel);
  };
  accepts(MemoryKernel::write, {4, 4, 4});
  accepts(MemoryKernel::copy, {1, -2, 3});
  accepts(MemoryKernel::scale, {4, -8, 12});
  accepts(MemoryKernel::add, {11, 18, 33});
  accepts(MemoryKernel::triad, {41, 78, 123});
}

TEST(CheckMemory, NamesTheElementThatDiffers) {
  const std::vector<double> a = {1, 2};
  try {
    check_memory(MemoryKernel::copy, a, {}, std::vector<double>{1, 2.5}, 0, 100);
    FAIL() << "nothing was thrown";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, kernels::Outcome::wrong_result);
    EXPECT_STREQ(error.what(), "copy: element 101 is 2.5, expected 2");
  }
}

TEST(CheckMemory, TriadMayBeFusedOrNot) {
  const double a = 0.1;
  const double b = 1 / 3.0;
  const double s = 3.3;
  const std::vector<double> one_a = {a};
  const std::vector<double> one_b = {b};
  EXPECT_NO_THROW(check_memory(MemoryKernel::triad, one_a, one_b, std::vector<double>{std::fma(s, b, a)}, s));
  EXPECT_NO_THROW(check_memory(MemoryKernel::triad, one_a, one_b, std::vector<double>{a + s * b}, s));
  EXPECT_THROW(check_memory(MemoryKernel::triad, one_a, one_b, std::vector<double>{a + s * b + 1e-14}, s),
               kernels::Error);
}

TEST(CheckMemory, RefusesNan) {
  EXPECT_THROW(check_memory(MemoryKernel::write, {}, {}, std::vector<double>{std::nan("")}, 4), kernels::Error);
}

TEST(ReferenceSum, AllowsAnyOrderOfAdditionsAndNothingMore) {
  ReferenceSum sum;
  sum.add(std::vector<double>{1, 2});
  sum.add(std::vector<double>{3, -4});
  // 4 additions, sum of magnitudes 10: 4 x 2^-53 x 10 = 4.4e-15.
  EXPECT_NO_THROW(sum.check(2));
  EXPECT_NO_THROW(sum.check(2 + 4e-15));
  EXPECT_THROW(sum.check(2 + 6e-15), kernels::Error);
  EXPECT_THROW(sum.check(3), kernels::Error);
}

TEST(CheckClose, ComparesLengthValuesAndNan) {
  const std::vector<double> expected = {1, 2};
  EXPECT_NO_THROW(check_close(std::vector<double>{1, 2.5}, expected, 0.5, "x"));
  EXPECT_THROW(check_close(std::vector<double>{1, 2.6}, expected, 0.5, "x"), kernels::Error);
  EXPECT_THROW(check_close(std::vector<double>{1}, expected, 0.5, "x"), kernels::Error);
  EXPECT_THROW(check_close(std::vector<double>{1, std::nan("")}, expected, 0.5, "x"), kernels::Error);
}

// ---------------------------------------------------------------------------------------------- matrix products

// Matrices on the host, in the layouts of kernels::GemmShape.
struct Matrices {
  GemmShape shape;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> c;

  Product product(DataType input, DataType output) const {
    const auto reader = [](const std::vector<double>& values) {
      return [&values](std::size_t first, std::size_t count) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
      };
    };
    return {shape, input, output, reader(a), reader(b), reader(c)};
  }
};

// Adds in `Accumulator`, in order; `round` makes what is stored of an input or a result.
template <class Accumulator, class RoundInput, class RoundOutput>
Matrices multiplied(const GemmShape& shape, RoundInput round_input, RoundOutput round_output) {
  std::mt19937_64 random(42);
  std::normal_distribution<double> normal;
  const auto m = static_cast<std::size_t>(shape.m);
  const auto n = static_cast<std::size_t>(shape.n);
  const auto k = static_cast<std::size_t>(shape.k);
  Matrices made{shape, std::vector<double>(m * k), std::vector<double>(k * n), std::vector<double>(m * n)};
  for (double& value : made.a) value = round_input(normal(random));
  for (double& value : made.b) value = round_input(normal(random));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < m; ++i) {
      Accumulator sum = 0;
      for (std::size_t l = 0; l < k; ++l)
        sum += static_cast<Accumulator>(made.a[i * k + l]) * static_cast<Accumulator>(made.b[j * k + l]);
      made.c[j * m + i] = round_output(static_cast<double>(sum));
    }
  return made;
}

double to_float(double value) { return static_cast<float>(value); }

// Half a unit in the last of 8 bits, to even.
double to_bf16(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  bits += 0x7fffU + ((bits >> 16) & 1U);
  return std::bit_cast<float>(bits & 0xffff0000U);
}

constexpr GemmShape odd_shape{96, 100, 128};  // groups of 6 and 7 columns

Matrices fp32_product() { return multiplied<float>(odd_shape, to_float, to_float); }

TEST(CheckProduct, AcceptsProductsRoundedAsDevicesDo) {
  const auto as_is = [](double value) { return value; };
  EXPECT_NO_THROW(
      check_product(multiplied<double>(odd_shape, as_is, as_is).product(DataType::fp64, DataType::fp64), 1));
  EXPECT_NO_THROW(check_product(fp32_product().product(DataType::fp32, DataType::fp32), 1));
  EXPECT_NO_THROW(
      check_product(multiplied<float>(odd_shape, to_bf16, to_bf16).product(DataType::bf16, DataType::bf16), 1));
}

TEST(CheckProduct, AcceptsShapesNarrowerThanItsGroups) {
  for (const GemmShape& shape : {GemmShape{1, 1, 1}, GemmShape{16, 3, 40}, GemmShape{5, 17, 2}}) {
    const Matrices narrow = multiplied<float>(shape, to_float, to_float);
    EXPECT_NO_THROW(check_product(narrow.product(DataType::fp32, DataType::fp32), 1)) << shape.m << 'x' << shape.n;
  }
}

TEST(CheckProduct, IntegersMustBeExact) {
  const auto small = [](double value) { return std::round(20 * value); };
  Matrices made = multiplied<double>(odd_shape, small, small);
  for (double& value : made.c) value = 0;
  const auto m = static_cast<std::size_t>(odd_shape.m);
  const auto k = static_cast<std::size_t>(odd_shape.k);
  for (std::size_t j = 0; j < static_cast<std::size_t>(odd_shape.n); ++j)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t l = 0; l < k; ++l) made.c[j * m + i] += made.a[i * k + l] * made.b[j * k + l];
  EXPECT_NO_THROW(check_product(made.product(DataType::int8, DataType::int32), 1));
  made.c[777] += 1;
  EXPECT_THROW(check_product(made.product(DataType::int8, DataType::int32), 1), kernels::Error);
}

// The highest bit of the exponent turns a number into a huge or a vanishing one.
TEST(CheckProduct, CatchesAFlippedHighBitOfAnyEntry) {
  Matrices made = fp32_product();
  for (std::size_t entry = 0; entry < made.c.size(); entry += 37) {
    const double right = made.c[entry];
    made.c[entry] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(right)) ^ 0x40000000U);
    EXPECT_THROW(check_product(made.product(DataType::fp32, DataType::fp32), 1), kernels::Error) << "entry " << entry;
    made.c[entry] = right;
  }
}

// Everything that matters: a sign, or the top bit of the mantissa, of any entry of usual size.
TEST(CheckProduct, CatchesAFlippedSignOrMantissaBitInFp32) {
  Matrices made = fp32_product();
  for (std::size_t entry = 5; entry < made.c.size(); entry += 97)
    for (const std::uint32_t bit : {0x80000000U, 0x00400000U}) {
      const double right = made.c[entry];
      if (std::abs(right) < 0.1) continue;
      made.c[entry] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(right)) ^ bit);
      EXPECT_THROW(check_product(made.product(DataType::fp32, DataType::fp32), 1), kernels::Error) << "entry " << entry;
      made.c[entry] = right;
    }
}

TEST(CheckProduct, CatchesAMissingLastTermOfEverySum) {
  Matrices made = fp32_product();
  const auto m = static_cast<std::size_t>(odd_shape.m);
  const auto k = static_cast<std::size_t>(odd_shape.k);
  for (std::size_t j = 0; j < static_cast<std::size_t>(odd_shape.n); ++j)
    for (std::size_t i = 0; i < m; ++i) made.c[j * m + i] -= made.a[i * k + k - 1] * made.b[j * k + k - 1];
  EXPECT_THROW(check_product(made.product(DataType::fp32, DataType::fp32), 1), kernels::Error);
}

TEST(CheckProduct, CatchesLowerPrecisionThanSaid) {
  const Matrices made = multiplied<float>(odd_shape, to_bf16, to_bf16);
  EXPECT_THROW(check_product(made.product(DataType::bf16, DataType::fp32), 1), kernels::Error);
}

TEST(CheckProduct, CatchesNanAndZeros) {
  Matrices made = fp32_product();
  made.c[1234] = std::nan("");
  EXPECT_THROW(check_product(made.product(DataType::fp32, DataType::fp32), 1), kernels::Error);
  made.c.assign(made.c.size(), 0);
  EXPECT_THROW(check_product(made.product(DataType::fp32, DataType::fp32), 1), kernels::Error);
}

TEST(CheckProduct, OnZerosEveryEntryMustBeZero) {
  Matrices made{odd_shape, {}, {}, {}};
  made.a.resize(12288);
  made.b.resize(12800);
  made.c.resize(9600);
  EXPECT_NO_THROW(check_product(made.product(DataType::fp16, DataType::fp16), 1));
  made.c[9599] = 1e-7;
  EXPECT_THROW(check_product(made.product(DataType::fp16, DataType::fp16), 1), kernels::Error);
}

TEST(ProductError, FollowsItsFormula) {
  // fp32, k = 4096: 2^-24 x 64 + 0.5 x 2^-24
  EXPECT_DOUBLE_EQ(product_error(DataType::fp32, DataType::fp32, 4096), 64.5 * 0x1p-24);
  EXPECT_DOUBLE_EQ(product_error(DataType::tf32, DataType::fp32, 4096), 64.5 * 0x1p-24 + std::sqrt(2.0) * 0x1p-11);
  EXPECT_EQ(product_error(DataType::int8, DataType::int32, 4096), 0);
}

}  // namespace
}  // namespace claimcheck::bench

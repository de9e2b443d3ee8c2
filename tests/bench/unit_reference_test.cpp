// References of the register kernels, with values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "bench/chain_reference.h"
#include "bench/product.h"
#include "bench/tensor_reference.h"
#include "bench/unit_rate.h"

namespace claimcheck::bench {
namespace {

using kernels::DataType;
using kernels::VectorOp;
using testing::ElementsAre;
using testing::HasSubstr;

double real_chain(VectorOp op, double input, int chains, std::int64_t steps) {
  std::vector<std::byte> stored(kernels::storage_bytes(value_type(op), 1));
  kernels::encode(value_type(op), std::span(&input, 1), stored);
  return kernels::decode(value_type(op), chains_reference(op, stored, chains, steps), 1)[0];
}

std::uint32_t integer_chain(VectorOp op, std::uint32_t input, int chains, std::int64_t steps) {
  const std::vector<std::byte> output = chains_reference(op, std::as_bytes(std::span(&input, 1)), chains, steps);
  std::uint32_t value = 0;
  std::memcpy(&value, output.data(), sizeof value);
  return value;
}

// From 0: -1.8125, then 3.28515625 - 1.8125. From 1/16: -1.80859375, then 3.2710113525390625 - 1.8125.
TEST(ChainsReference, FloatingPointIsRoundedToTheTypeAfterEachStep) {
  EXPECT_EQ(real_chain(VectorOp::fp64, 0, 1, 2), 1.47265625);
  EXPECT_EQ(real_chain(VectorOp::fp64, 0, 2, 2), 1.47265625 + 1.4585113525390625);
  EXPECT_EQ(real_chain(VectorOp::fp64, 0.5, 1, 0), 0.0625) << "v / 8";
  EXPECT_EQ(real_chain(VectorOp::fp32, 0, 2, 2), 2.9311676025390625);
  EXPECT_EQ(real_chain(VectorOp::fp16, 0, 2, 2), 1.47265625 + 1.458984375) << "1493.5 / 1024 is rounded to 1494";
  // 7 bits behind the point: ties to even make 188 of 188.5 and 232 of 231.5.
  EXPECT_EQ(real_chain(VectorOp::bf16, 0, 1, 2), 188.0 / 128);
  EXPECT_EQ(real_chain(VectorOp::bf16, 0, 2, 2), 2.9375);
}

TEST(ChainsReference, Fp32IsFused) {
  // From x = 0.1f: fused and unfused differ in the last bit of one of the first steps.
  float fused = 0.8F / 8;
  float apart = fused;
  int differ = 0;
  for (int i = 1; i <= 30; ++i) {
    fused = std::fma(fused, fused, -1.8125F);
    const float square = apart * apart;
    apart = square - 1.8125F;
    differ += fused != apart ? 1 : 0;
    EXPECT_EQ(real_chain(VectorOp::fp32, 0.8F, 1, i), fused) << i;
  }
  EXPECT_GT(differ, 0) << "or this test says nothing";
}

TEST(ChainsReference, IntegersWrap) {
  EXPECT_EQ(integer_chain(VectorOp::int32, 1, 1, 1), 1015568748U);
  EXPECT_EQ(integer_chain(VectorOp::int32, 1, 1, 2), 1586005467U);
  // Bytes 4 3 2 1 times 4 -3 2 -1 from the lowest: 16 - 9 + 4 - 1.
  EXPECT_EQ(integer_chain(VectorOp::dp4a, 0x01020304U, 1, 1), 0x01020304U + 10);
  // The byte 0x80 is -128: -128 x -1 at the top.
  EXPECT_EQ(integer_chain(VectorOp::dp4a, 0x80000000U, 1, 1), 0x80000000U + 128);
  EXPECT_EQ(integer_chain(VectorOp::dp4a, 0, 2, 1), 4U) << "the second chain starts from 1: 0 + 4";
}

// ---------------------------------------------------------------------------------------------- tiles

Tile one_entry(DataType input, DataType output, std::int64_t steps) { return {{1, 1, 2}, input, output, steps}; }

void check_one(const Tile& tile, double a0, double a1, double b0, double b1, double c) {
  check_tile(tile, std::vector<double>{a0, a1}, std::vector<double>{b0, b1}, std::vector<double>{c}, "tile 7");
}

TEST(CheckTile, AllowsWhatManyAdditionsLose) {
  // p = 1, M = 5, k = 2: 2^-24 x 1000 x (1000 + 6 x 5) + 2^-24 x 1000 = 0.0614 + 0.00006
  const Tile tile = one_entry(DataType::fp16, DataType::fp32, 1000);
  EXPECT_NO_THROW(check_one(tile, 1, 2, 3, -1, 1000));
  EXPECT_NO_THROW(check_one(tile, 1, 2, 3, -1, 999.94));
  EXPECT_THROW(check_one(tile, 1, 2, 3, -1, 999.93), kernels::Error);
  EXPECT_THROW(check_one(tile, 1, 2, 3, -1, 1001), kernels::Error) << "one step too many";
  EXPECT_THROW(check_one(tile, 1, 2, 3, -1, std::nan("")), kernels::Error);
  EXPECT_THROW(check_one(tile, 1, 2, 3, -1, 0), kernels::Error);
}

TEST(CheckTile, IntegersAreExactModuloTheirRange) {
  const Tile tile = one_entry(DataType::int8, DataType::int32, 200000);
  // 32258 x 200000 = 6451600000 = -2138334592 + 2 x 2^32
  EXPECT_NO_THROW(check_one(tile, 127, 127, 127, 127, -2138334592.0));
  EXPECT_THROW(check_one(tile, 127, 127, 127, 127, -2138334591.0), kernels::Error);
}

TEST(CheckTile, SaysWhere) {
  try {
    check_one(one_entry(DataType::fp64, DataType::fp64, 3), 1, 1, 1, 1, 5);
    FAIL() << "nothing was thrown";
  } catch (const kernels::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tile 7, entry (0, 0) is 5, expected 6 within"));
  }
}

TEST(CheckTile, StepsAreBoundedWhereSumsAreShort) {
  EXPECT_EQ(most_tile_steps(DataType::fp8_e4m3), 2048);
  EXPECT_EQ(most_tile_steps(DataType::bf16), 1 << 20);
  EXPECT_EQ(most_tile_steps(DataType::int8), 1 << 20);
}

// ---------------------------------------------------------------------------------------------- samples

TEST(SampledGroups, HaveTheFirstAndTheLastOrAll) {
  EXPECT_THAT(sampled_groups(40, 16, 8, 1), ElementsAre(0, 16, 32));
  const std::vector<std::size_t> some = sampled_groups(1000, 16, 8, 1);
  ASSERT_EQ(some.size(), 8U);
  EXPECT_EQ(some.front(), 0U);
  EXPECT_EQ(some.back(), 992U);
  EXPECT_EQ(sampled_groups(1000, 16, 8, 1), some) << "the same every time";
}

TEST(CheckedColumns, AreAllOfSmallProductsAndOneInEachBlockOfLargeOnes) {
  EXPECT_EQ(checked_columns({2048, 2048, 16}, 1).size(), 2048U);
  const std::vector<std::size_t> some = checked_columns({4096, 4100, 16}, 1);
  ASSERT_EQ(some.size(), 129U);
  for (std::size_t block = 0; block < some.size(); ++block) EXPECT_EQ(some[block] / 32, block);
  EXPECT_LT(some.back(), 4100U);
}

// m = 2048, n = 4096, k = 1: every entry is a product of two numbers.
TEST(CheckedColumns, AnErrorInOneOfThemIsSeen) {
  constexpr std::size_t m = 2048;
  constexpr std::size_t n = 4096;
  std::vector<double> a(m);
  std::vector<double> b(n);
  for (std::size_t i = 0; i < m; ++i) a[i] = static_cast<double>(i % 7) - 3;
  for (std::size_t j = 0; j < n; ++j) b[j] = static_cast<double>(j % 5) - 2;
  std::vector<double> c(m * n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < m; ++i) c[j * m + i] = a[i] * b[j];
  const auto reader = [](const std::vector<double>& values) {
    return [&values](std::size_t first, std::size_t count) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
  };
  const Product product{{m, n, 1}, DataType::int8, DataType::int32, reader(a), reader(b), reader(c)};
  const ProductReference reference(product, 9);
  EXPECT_NO_THROW(reference.check(product.c));
  const std::size_t column = reference.columns()[100];
  c[column * m + 17] += 1;
  EXPECT_THROW(reference.check(product.c), kernels::Error);
}

}  // namespace
}  // namespace claimcheck::bench

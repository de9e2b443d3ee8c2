// Random data: reproducible whatever the number of threads, and normal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/normal.h"
#include "tests/kernels/support.h"

namespace claimcheck::kernels {
namespace {

const std::vector<DataType> all_types = {DataType::fp64, DataType::fp32,     DataType::tf32,     DataType::fp16,
                                         DataType::bf16, DataType::fp8_e4m3, DataType::fp8_e5m2, DataType::fp4,
                                         DataType::int8, DataType::int32};

// The sequence by an independent route: the C library's functions instead of the polynomials.
double reference(std::uint64_t seed, std::uint64_t index) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  };
  const std::uint64_t key = mix(seed + 0x9e3779b97f4a7c15U);
  const std::uint64_t random = mix(key + (index / 2 + 1) * 0x9e3779b97f4a7c15U);
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(random & 0xffffffffU) + 0.5) / 4294967296.0));
  const double angle = 2 * std::acos(-1.0) * static_cast<double>(random >> 32) / 4294967296.0;
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

TEST(Fill, IsTheBoxMullerTransformOfTheCounterBasedSequence) {
  const auto platform = open_platform({});
  const auto values = test::filled(*platform->devices()[0], DataType::fp64, 200000, 42);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], reference(42, i), 2e-13) << i;
}

TEST(Fill, TheFirstNumbersOfSplitMix64AreThePublishedOnes) {
  // Seed 1234567, as in the test vectors of Rosetta Code and of Vigna's splitmix64.c.
  EXPECT_EQ(normal_detail::mix(1234567 + 0x9e3779b97f4a7c15U), 6457827717110365317U);
  EXPECT_EQ(normal_detail::mix(1234567 + 2 * 0x9e3779b97f4a7c15U), 3203168211198807973U);
}

TEST(Fill, GivesTheSameValuesForAnyNumberOfThreads) {
  const auto one = test::open_with(1);
  const auto all = open_platform({});
  for (const DataType type : all_types) {
    const std::size_t count = 70001 - (type == DataType::fp4 ? 1 : 0);
    const auto expected = test::filled(*one->devices()[0], type, count, 7);
    EXPECT_EQ(test::filled(*all->devices()[0], type, count, 7), expected) << to_string(type);
    EXPECT_EQ(test::filled(*all->ranks().back(), type, count, 7), expected) << to_string(type);
    EXPECT_NE(test::filled(*all->devices()[0], type, count, 8), expected) << to_string(type);
  }
}

TEST(Fill, IsNormalInEveryType) {
  const auto platform = open_platform({});
  const std::size_t count = 400000;
  for (const DataType type : all_types) {
    SCOPED_TRACE(to_string(type));
    const double scale = type == DataType::int8 ? 32 : (type == DataType::int32 ? 65536 : 1);
    const auto values = test::filled(*platform->devices()[0], type, count, 3);
    double sum = 0;
    double squares = 0;
    double fourth = 0;
    double neighbours = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double x = values[i] / scale;
      ASSERT_TRUE(std::isfinite(x));
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
      neighbours += i > 0 ? x * values[i - 1] / scale : 0;
    }
    // Five standard errors of the mean, 1/sqrt(n); coarse formats add their rounding to the variance.
    const double tolerance = unit_roundoff(type) > 0x1p-4 ? 0.06 : 0.012;
    EXPECT_NEAR(sum / count, 0, 0.008);
    EXPECT_NEAR(std::sqrt(squares / count), 1, tolerance);
    EXPECT_NEAR(fourth / count, 3, 20 * tolerance);
    EXPECT_NEAR(neighbours / count, 0, 0.008);
  }
}

TEST(Fill, TailsAreThoseOfANormalDistribution) {
  const auto platform = open_platform({});
  auto values = test::filled(*platform->devices()[0], DataType::fp64, 1000000, 11);
  std::sort(values.begin(), values.end());
  // Largest distance between the empirical and the normal distribution function (Kolmogorov-Smirnov); 1.95 is the
  // critical value for a probability of 0.1 %.
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double normal = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
    distance = std::max(distance, std::abs(normal - static_cast<double>(i) / static_cast<double>(values.size())));
  }
  EXPECT_LT(distance * std::sqrt(static_cast<double>(values.size())), 1.95);
  EXPECT_GT(values.back(), 4.3);
  EXPECT_LT(values.front(), -4.3);
}

TEST(Fill, ZerosAreZeros) {
  const auto platform = open_platform({});
  Device& device = *platform->devices()[0];
  const auto buffer = test::uploaded(device, std::vector<double>(10001, 3.5));
  const auto stream = device.make_stream();
  device.fill(*stream, *buffer, DataType::fp64, Pattern::zeros, 1);
  stream->wait(test::patience);
  EXPECT_EQ(test::downloaded<double>(device, *buffer), std::vector<double>(10001, 0.0));
}

}  // namespace
}  // namespace claimcheck::kernels

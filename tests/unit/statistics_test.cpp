// Expected values by hand and by Python's statistics module; ranks of the interval by exact binomial sums in Python.
#include "harness/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace claimcheck {
namespace {

TEST(Median, OddCountIsTheMiddleValue) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{3.1, 2.9, 3.05, 3.2, 2.95, 3.0, 3.15}), 3.05);
  EXPECT_DOUBLE_EQ(median(std::vector{7.5}), 7.5);
}

TEST(Median, EvenCountIsTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector{101.5, 99.2, 100.7, 98.8, 102.3, 100.1, 99.9, 100.4, 97.6, 103.1}), 100.25);
}

TEST(Median, DoesNotOverflowNearTheLargestDouble) { EXPECT_DOUBLE_EQ(median(std::vector{1.6e308, 1.7e308}), 1.65e308); }

TEST(Median, NeedsASample) { EXPECT_THROW(median(std::vector<double>{}), std::invalid_argument); }

TEST(CoefficientOfVariation, IsTheSampleDeviationOverTheMean) {
  // statistics.stdev(x) / statistics.mean(x)
  EXPECT_NEAR(coefficient_of_variation(std::vector{3.1, 2.9, 3.05, 3.2, 2.95, 3.0, 3.15}), 0.03541388359785717, 1e-15);
  EXPECT_NEAR(coefficient_of_variation(std::vector{101.5, 99.2, 100.7, 98.8, 102.3, 100.1, 99.9, 100.4, 97.6, 103.1}),
              0.01639428150497264, 1e-15);
  // 1, 2, 3: deviation 1, mean 2
  EXPECT_DOUBLE_EQ(coefficient_of_variation(std::vector{1.0, 2.0, 3.0}), 0.5);
}

TEST(CoefficientOfVariation, IsZeroWhereItMeansNothing) {
  EXPECT_EQ(coefficient_of_variation(std::vector{5.0}), 0);
  EXPECT_EQ(coefficient_of_variation(std::vector{-1.0, 1.0}), 0);
  EXPECT_EQ(coefficient_of_variation(std::vector{2.0, 2.0, 2.0}), 0);
}

// 1, 2, ..., n: the interval is [rank, n + 1 - rank].
double lower_end(std::size_t n) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i + 1);
  const auto interval = median_interval_95(values);
  if (!interval) return 0;
  EXPECT_DOUBLE_EQ(interval->first + interval->second, static_cast<double>(n + 1)) << n;
  return interval->first;
}

TEST(MedianInterval, DoesNotExistBelowSixSamples) {
  for (std::size_t n = 0; n < 6; ++n) EXPECT_EQ(lower_end(n), 0) << n;
}

TEST(MedianInterval, HasTheRanksOfTheBinomialDistribution) {
  const std::vector<std::pair<std::size_t, double>> ranks = {{6, 1},  {7, 1},   {8, 1},    {9, 2},     {10, 2}, {11, 2},
                                                             {12, 3}, {15, 4},  {17, 5},   {20, 6},    {23, 7}, {25, 8},
                                                             {28, 9}, {30, 10}, {100, 40}, {1000, 469}};
  for (const auto& [n, rank] : ranks) EXPECT_EQ(lower_end(n), rank) << n;
}

TEST(MedianInterval, DoesNotDependOnTheOrder) {
  const auto interval = median_interval_95(std::vector{9.0, 1.0, 5.0, 3.0, 7.0, 2.0});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->first, 1);
  EXPECT_DOUBLE_EQ(interval->second, 9);
}

// The promise itself: of many samples from a skewed distribution whose median is ln 2, at least 95 % of the intervals
// hold it (9 samples: 96.1 % by the binomial sum).
TEST(MedianInterval, CoversTheMedianAsOftenAsPromised) {
  std::mt19937_64 random(20261130);
  std::exponential_distribution<double> distribution(1.0);
  int covered = 0;
  constexpr int trials = 20000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(9);
    for (double& sample : samples) sample = distribution(random);
    const auto interval = median_interval_95(samples).value();
    if (interval.first <= std::log(2.0) && std::log(2.0) <= interval.second) ++covered;
  }
  EXPECT_NEAR(static_cast<double>(covered) / trials, 0.9609375, 0.005);
}

TEST(Summarise, HoldsEverything) {
  const std::vector<double> samples = {3.1, 2.9, 3.05, 3.2, 2.95, 3.0, 3.15};
  const Statistics statistics = summarise(samples);
  EXPECT_DOUBLE_EQ(statistics.median, 3.05);
  EXPECT_DOUBLE_EQ(statistics.min, 2.9);
  EXPECT_DOUBLE_EQ(statistics.max, 3.2);
  EXPECT_NEAR(statistics.cv, 0.03541388359785717, 1e-15);
  ASSERT_TRUE(statistics.ci95);
  EXPECT_EQ(*statistics.ci95, (std::pair{2.9, 3.2}));
  EXPECT_EQ(statistics.samples, samples) << "in the order they were measured";
}

TEST(Summarise, OneSampleHasNoSpread) {
  const Statistics statistics = summarise(std::vector{4.0});
  EXPECT_EQ(statistics.median, 4);
  EXPECT_EQ(statistics.cv, 0);
  EXPECT_FALSE(statistics.ci95);
}

TEST(Summarise, NeedsASample) { EXPECT_THROW(summarise(std::vector<double>{}), std::invalid_argument); }

}  // namespace
}  // namespace claimcheck

// The rule that says which of several is slow, on numbers worked out by hand.
#include "harness/evidence/outlier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace claimcheck {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<Member> members(const std::vector<double>& rates) {
  std::vector<Member> made;
  for (std::size_t i = 0; i < rates.size(); ++i) made.push_back({static_cast<int>(i), rates[i]});
  return made;
}

TEST(slow_ones, one_of_eight_equals) {
  const auto slow = slow_ones(members({794, 794, 794, 556, 794, 794, 794, 794}), 0.05);
  ASSERT_THAT(slow, SizeIs(1));
  EXPECT_EQ(slow[0].index, 3);
  EXPECT_DOUBLE_EQ(slow[0].usual, 794);
  EXPECT_NEAR(slow[0].loss(), 0.29975, 1e-5);
}

TEST(slow_ones, what_healthy_ones_differ_by_is_none) {
  // Median 100, MAD 0: the limit is 5 % alone.
  EXPECT_THAT(slow_ones(members({100, 100, 100, 95}), 0.05), IsEmpty());
  EXPECT_THAT(slow_ones(members({100, 100, 100, 94.9}), 0.05), SizeIs(1));
}

TEST(slow_ones, the_limit_is_three_and_a_half_deviations) {
  // Median 100; distances 4 2 2 2 4 15: MAD 3, 3.5 x 1.4826 x 3 = 15.567.
  EXPECT_THAT(slow_ones(members({104, 102, 98, 102, 96, 85}), 0.01), IsEmpty());
  // Sorted 80 96 98 102 102 104: median 100, distances 0 2 2 4 4 20: MAD 3, lowest 84.433.
  const auto slow = slow_ones(members({104, 102, 98, 102, 96, 80}), 0.01);
  ASSERT_THAT(slow, SizeIs(1));
  EXPECT_EQ(slow[0].index, 5);
}

TEST(slow_ones, two_of_eight_do_not_hide_each_other) {
  const auto slow = slow_ones(members({700, 500, 700, 700, 700, 510, 700, 700}), 0.05);
  ASSERT_THAT(slow, SizeIs(2));
  EXPECT_EQ(slow[0].index, 1);
  EXPECT_EQ(slow[1].index, 5);
}

TEST(slow_ones, half_and_half_has_no_outlier) {
  // Host links of which every second shares an uplink: nobody is the exception.
  EXPECT_THAT(slow_ones(members({28, 14, 28, 14, 28, 14, 28, 14}), 0.05), IsEmpty());
}

TEST(slow_ones, three_are_enough_and_two_are_not) {
  EXPECT_THAT(slow_ones(members({100, 100, 70}), 0.05), SizeIs(1));
  EXPECT_THAT(slow_ones(members({100, 70}), 0.05), IsEmpty());
  const auto slower = slower_of_two(members({100, 70}), 0.05);
  ASSERT_TRUE(slower.has_value());
  EXPECT_EQ(slower->index, 1);
  EXPECT_DOUBLE_EQ(slower->usual, 100);
  EXPECT_FALSE(slower_of_two(members({100, 96}), 0.05).has_value());
  EXPECT_FALSE(slower_of_two(members({100, 100, 70}), 0.05).has_value());
}

RateMatrix matrix(int size, double rate) {
  RateMatrix rates(static_cast<std::size_t>(size), std::vector<std::optional<double>>(static_cast<std::size_t>(size)));
  for (std::size_t i = 0; i < rates.size(); ++i)
    for (std::size_t j = 0; j < rates.size(); ++j)
      if (i != j) rates[i][j] = rate;
  return rates;
}

TEST(slow_links, a_member_that_is_slow_with_all) {
  RateMatrix rates = matrix(4, 393);
  for (std::size_t i = 0; i < 4; ++i)
    if (i != 2) rates[2][i] = rates[i][2] = 200;
  const SlowLinks slow = slow_links(rates, 0.05);
  ASSERT_THAT(slow.members, SizeIs(1));
  EXPECT_EQ(slow.members[0].index, 2);
  EXPECT_DOUBLE_EQ(slow.members[0].rate, 200);
  EXPECT_THAT(slow.pairs, IsEmpty()) << "its pairs are explained by it";
}

TEST(slow_links, a_member_that_only_sends_slowly) {
  RateMatrix rates = matrix(4, 393);
  for (std::size_t i = 0; i < 4; ++i)
    if (i != 1) rates[1][i] = 200;
  ASSERT_THAT(slow_links(rates, 0.05).members, SizeIs(1));
  EXPECT_EQ(slow_links(rates, 0.05).members[0].index, 1);
}

TEST(slow_links, one_pair_once_with_its_worse_direction) {
  RateMatrix rates = matrix(4, 50);
  rates[0][3] = 20;
  rates[3][0] = 10;
  const SlowLinks slow = slow_links(rates, 0.05);
  EXPECT_THAT(slow.members, IsEmpty());
  ASSERT_THAT(slow.pairs, SizeIs(1));
  EXPECT_EQ(slow.pairs[0].from, 3);
  EXPECT_EQ(slow.pairs[0].to, 0);
  EXPECT_DOUBLE_EQ(slow.pairs[0].loss(), 0.8);
}

TEST(slow_links, what_was_not_measured_says_nothing) {
  EXPECT_THAT(slow_links(matrix(2, 50), 0.05).pairs, IsEmpty());
  EXPECT_THAT(slow_links({}, 0.05).members, IsEmpty());
  RateMatrix rates = matrix(3, 50);
  rates[0] = {std::nullopt, std::nullopt, std::nullopt};
  EXPECT_THAT(slow_links(rates, 0.05).members, IsEmpty());
}

}  // namespace
}  // namespace claimcheck

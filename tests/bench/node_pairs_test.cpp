// Rounds of pairs, the outlier rule and the verdict, on made-up clusters of every size up to 33 nodes.
#include "bench/node_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

namespace claimcheck::bench {

void PrintTo(const NodePair& pair, std::ostream* out) { *out << pair.first << '-' << pair.second; }

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Verdict::Kind;

constexpr double healthy = 46;

// A cluster whose pairs have known rates; what is measured at once and alone may differ.
class Cluster {
 public:
  using Rate = std::function<double(const NodePair& pair)>;

  Cluster(int nodes, Rate rate, double noise = 0.01, unsigned seed = 1)
      : nodes_(nodes), rate_(rate), alone_(rate), noise_(noise), random_(seed) {}

  Cluster& alone(Rate rate) {
    alone_ = std::move(rate);
    return *this;
  }

  Verdict verdict(double least_drop = least_drop_of_bandwidth) {
    std::vector<PairRate> rates;
    for (const auto& round : tournament(nodes_))
      for (const NodePair& pair : round) rates.push_back({pair, noisy(rate_(pair))});
    level = level_of(nodes_, rates, least_drop);
    again = to_measure_again(nodes_, rates, level);
    std::vector<PairRate> alone;
    for (const NodePair& pair : again.controls) alone.push_back({pair, noisy(alone_(pair))});
    for (const NodePair& pair : again.suspects) alone.push_back({pair, noisy(alone_(pair))});
    kept = kept_at_once(rates, level, alone);
    return find_guilty(nodes_, rates, level, alone);
  }

  Level level;
  Again again;
  double kept = 0;

 private:
  // Uniform, so that no value is far out by chance.
  double noisy(double rate) { return rate * (1 + noise_ * std::uniform_real_distribution<double>(-1, 1)(random_)); }

  int nodes_;
  Rate rate_;
  Rate alone_;
  double noise_;
  std::mt19937 random_;
};

bool has(const NodePair& pair, int node) { return pair.first == node || pair.second == node; }

Cluster::Rate all_well() {
  return [](const NodePair&) { return healthy; };
}

Cluster::Rate with_bad_nodes(std::set<int> bad, double share = 0.6) {
  return [bad, share](const NodePair& pair) {
    return bad.contains(pair.first) || bad.contains(pair.second) ? share * healthy : healthy;
  };
}

Cluster::Rate with_bad_links(std::vector<NodePair> bad, double share = 0.6) {
  return [bad, share](const NodePair& pair) {
    return std::find(bad.begin(), bad.end(), pair) != bad.end() ? share * healthy : healthy;
  };
}

class EverySize : public testing::TestWithParam<int> {};

TEST_P(EverySize, EveryTwoMeetOnceAndNobodyTwiceInARound) {
  const int nodes = GetParam();
  const auto rounds = tournament(nodes);
  EXPECT_EQ(static_cast<int>(rounds.size()), nodes % 2 == 0 ? nodes - 1 : nodes);
  std::set<std::pair<int, int>> met;
  for (const auto& round : rounds) {
    EXPECT_EQ(static_cast<int>(round.size()), nodes / 2);
    std::set<int> busy;
    for (const NodePair& pair : round) {
      EXPECT_GE(pair.first, 0);
      EXPECT_LT(pair.first, pair.second);
      EXPECT_LT(pair.second, nodes);
      EXPECT_TRUE(busy.insert(pair.first).second);
      EXPECT_TRUE(busy.insert(pair.second).second);
      EXPECT_TRUE(met.insert({pair.first, pair.second}).second);
    }
  }
  EXPECT_EQ(static_cast<int>(met.size()), nodes * (nodes - 1) / 2);
}

TEST_P(EverySize, AllAlike) {
  const int nodes = GetParam();
  Cluster cluster(nodes, all_well());
  const Verdict verdict = cluster.verdict();
  EXPECT_EQ(verdict.kind, nodes == 2 ? Kind::one_pair : Kind::alike);
  EXPECT_THAT(verdict.slow, IsEmpty());
  EXPECT_THAT(cluster.again.suspects, IsEmpty());
  EXPECT_NEAR(cluster.level.rate, healthy, 0.011 * healthy);
}

// Also by as little as one adapter of eight takes.
TEST_P(EverySize, OneBadNodeWhicheverItIs) {
  const int nodes = GetParam();
  for (int bad = 0; bad < nodes; ++bad)
    for (const double share : {0.1, 0.6, 0.875}) {
      Cluster cluster(nodes, with_bad_nodes({bad}, share), 0.005, static_cast<unsigned>(bad));
      const Verdict verdict = cluster.verdict();
      if (nodes == 2) {
        EXPECT_EQ(verdict.kind, Kind::one_pair);
        continue;
      }
      EXPECT_EQ(verdict.kind, Kind::guilty);
      EXPECT_THAT(verdict.nodes, ElementsAre(bad));
      EXPECT_THAT(verdict.links, IsEmpty());
      EXPECT_EQ(static_cast<int>(verdict.slow.size()), nodes - 1);
      EXPECT_EQ(static_cast<int>(cluster.again.suspects.size()), nodes - 1);
    }
}

TEST_P(EverySize, TwoBadNodes) {
  const int nodes = GetParam();
  if (nodes < 4) GTEST_SKIP() << "more than half would be bad";
  for (int other = 1; other < nodes; ++other) {
    Cluster cluster(nodes, with_bad_nodes({0, other}), 0.01, static_cast<unsigned>(other));
    const Verdict verdict = cluster.verdict();
    EXPECT_THAT(verdict.nodes, ElementsAre(0, other));
    EXPECT_THAT(verdict.links, IsEmpty());
  }
}

TEST_P(EverySize, OneBadLink) {
  const int nodes = GetParam();
  if (nodes < 3) GTEST_SKIP() << "there is one link only";
  for (const auto& round : tournament(nodes))
    for (const NodePair& bad : round) {
      Cluster cluster(nodes, with_bad_links({bad}));
      const Verdict verdict = cluster.verdict();
      EXPECT_EQ(verdict.kind, Kind::guilty);
      EXPECT_THAT(verdict.nodes, IsEmpty());
      EXPECT_THAT(verdict.links, ElementsAre(bad));
    }
}

TEST_P(EverySize, ANoisyFirstMeasurementRecovers) {
  const int nodes = GetParam();
  if (nodes < 3) GTEST_SKIP() << "there is one pair only";
  Cluster cluster(nodes, with_bad_links({{0, nodes - 1}}));
  const Verdict verdict = cluster.alone(all_well()).verdict();
  EXPECT_THAT(cluster.again.suspects, ElementsAre(NodePair{0, nodes - 1}));
  EXPECT_EQ(verdict.kind, Kind::alike);
  EXPECT_THAT(verdict.slow, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Nodes, EverySize, testing::Range(2, 34));

TEST(NodePairs, ABadNodeAndABadLink) {
  Cluster cluster(7, [](const NodePair& pair) {
    return has(pair, 3) ? 0.5 * healthy : pair == NodePair{1, 5} ? 0.7 * healthy : healthy;
  });
  const Verdict verdict = cluster.verdict();
  EXPECT_THAT(verdict.nodes, ElementsAre(3));
  EXPECT_THAT(verdict.links, ElementsAre(NodePair{1, 5}));
  const std::string text = sentence(verdict, 7, "bandwidth");
  EXPECT_THAT(text, HasSubstr("node 3 is slow (bandwidth with 6 of 6 nodes)"));
  EXPECT_THAT(text, HasSubstr("the link 1-5 is slow"));
}

TEST(NodePairs, TwoBadLinksOfOneNodeDoNotMakeItBad) {
  Cluster cluster(6, with_bad_links({{0, 1}, {0, 2}}));
  const Verdict verdict = cluster.verdict();
  EXPECT_THAT(verdict.nodes, IsEmpty());
  EXPECT_THAT(verdict.links, testing::UnorderedElementsAre(NodePair{0, 1}, NodePair{0, 2}));
}

// Three nodes with one slow pair: a link. With two: the node they have in common.
TEST(NodePairs, ThreeNodes) {
  EXPECT_THAT(Cluster(3, with_bad_links({{0, 2}})).verdict().links, ElementsAre(NodePair{0, 2}));
  const Verdict verdict = Cluster(3, with_bad_links({{0, 2}, {1, 2}})).verdict();
  EXPECT_THAT(verdict.nodes, ElementsAre(2));
  EXPECT_THAT(verdict.links, IsEmpty());
}

TEST(NodePairs, APairThatFailedIsTheSlowest) {
  Cluster cluster(4, with_bad_nodes({1}, 0));
  const Verdict verdict = cluster.verdict();
  EXPECT_THAT(verdict.nodes, ElementsAre(1));
  for (const PairRate& one : verdict.slow) EXPECT_EQ(one.rate, 0);
}

TEST(NodePairs, MoreThanHalfBad) {
  Cluster cluster(5, with_bad_nodes({2, 3, 4}));
  const Verdict verdict = cluster.verdict();
  EXPECT_EQ(verdict.kind, Kind::most_slow);
  EXPECT_THAT(verdict.fast, ElementsAre(NodePair{0, 1}));
  EXPECT_THAT(sentence(verdict, 5, "bandwidth"), HasSubstr("most pairs is much worse than of 0-1"));
}

// All pairs at once share a switch with half of what they want: alone every one has twice as much, and the bad link is
// seen against that.
TEST(NodePairs, ASharedSwitchDoesNotHideABadLink) {
  const NodePair bad{2, 4};
  Cluster cluster(6, [bad](const NodePair& pair) { return (pair == bad ? 0.55 : 1) * healthy / 2; });
  cluster.alone([bad](const NodePair& pair) { return (pair == bad ? 0.55 : 1) * healthy; });
  EXPECT_THAT(cluster.verdict().links, ElementsAre(bad));
  EXPECT_NEAR(cluster.kept, 0.5, 0.02);
}

// The rule by hand: healthy pairs 44, 45, 46 (the better three of five nodes) have a median of 45 and a median absolute
// deviation of 1, so the drop is 3.5 / 0.6745 / 45 = 11.53 %.
TEST(NodePairs, TheDropFollowsTheSpread) {
  Cluster cluster(
      5,
      [](const NodePair& pair) {
        if (pair == NodePair{0, 1}) return 44.0;
        if (pair == NodePair{0, 2}) return 45.0;
        if (pair == NodePair{1, 2}) return 46.0;
        return 40.0;
      },
      0);
  cluster.verdict();
  EXPECT_DOUBLE_EQ(cluster.level.rate, 45);
  EXPECT_NEAR(cluster.level.drop, 0.11531, 1e-5);
  EXPECT_NEAR(cluster.level.limit(), 39.811, 1e-3);
  EXPECT_THAT(cluster.again.suspects, IsEmpty());
  EXPECT_THAT(cluster.again.controls, ElementsAre(NodePair{0, 2}, NodePair{0, 1}, NodePair{1, 2}));
}

TEST(NodePairs, LatencyMayDifferMore) {
  const auto reciprocal = [](double us) { return 1 / us; };
  const auto with = [&](double slow) {
    return Cluster(
               4, [&](const NodePair& pair) { return reciprocal(has(pair, 3) ? slow : 20); }, 0)
        .verdict(least_drop_of_latency);
  };
  EXPECT_EQ(with(35).kind, Kind::alike);
  EXPECT_THAT(with(45).nodes, ElementsAre(3));
}

// With many bad nodes not every pair is measured again; the others stay what they were.
TEST(NodePairs, WhatIsMeasuredAgainHasALimit) {
  Cluster cluster(33, with_bad_nodes({1, 5, 9, 13, 17, 21, 25}));
  const Verdict verdict = cluster.verdict();
  EXPECT_EQ(cluster.again.suspects.size(), 4u * 33);
  EXPECT_THAT(verdict.nodes, ElementsAre(1, 5, 9, 13, 17, 21, 25));
}

TEST(NodePairs, Sentences) {
  EXPECT_THAT(sentence(Cluster(2, all_well()).verdict(), 2, "bandwidth"), HasSubstr("measure with three or more"));
  EXPECT_THAT(sentence(Cluster(4, all_well()).verdict(), 4, "latency"),
              HasSubstr("latency of all pairs is alike: no node and no link stands out"));
  EXPECT_THAT(sentence(Cluster(5, with_bad_links({{0, 1}, {2, 3}})).verdict(), 5, "bandwidth"),
              HasSubstr("the links 0-1, 2-3 are slow"));
}

}  // namespace
}  // namespace claimcheck::bench

// Which node or link of a cluster is slow, from figures of pairs of nodes. Pure functions: nothing is measured here.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace claimcheck::bench {

struct NodePair {
  int first = 0;  // the smaller number
  int second = 0;
  bool operator==(const NodePair&) const = default;
};

// Every two of the nodes once, in as few rounds as there can be, no node twice in a round: the circle method of round-
// robin tournaments [Kirkman, 1847]. Nodes - 1 rounds of an even number, as many rounds as nodes of an odd one, in each
// of which one node has nobody.
std::vector<std::vector<NodePair>> tournament(int nodes);

// The rate of a pair, larger is better (a latency is given as its reciprocal); 0: it failed.
struct PairRate {
  NodePair pair;
  double rate = 0;
};

// What pairs of healthy nodes reach. Faults only take away, and a bad node spoils as many pairs as there are others, so
// that the median of all pairs would not do for few nodes: the half of the nodes whose pairs add up to most are taken
// for healthy, and the level is the median of the pairs between them. Finds up to half of the nodes bad.
//
// A pair is slow below level x (1 - drop). The drop is 3.5 / 0.6745 median absolute deviations of the same pairs
// [Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993: modified z-score above 3.5], but at least
// `least_drop`, since few pairs show no spread, and at most a half: less than half the level is slow whatever the
// spread.
struct Level {
  double rate = 0;
  double drop = 0;
  std::vector<NodePair> healthy;  // between the better nodes, the nearest to the level first

  double limit() const { return rate * (1 - drop); }
};

// One of eight adapters gone takes 12.5 % of a node's rate: that has to be found.
inline constexpr double least_drop_of_bandwidth = 0.10;
// Times of small messages depend on the way through the switches; twice the time does not come from there.
inline constexpr double least_drop_of_latency = 0.50;

// `rates`: of all pairs. At least two nodes.
Level level_of(int nodes, std::span<const PairRate> rates, double least_drop);

// What is to be measured again with nothing else running: some healthy pairs to compare with, first, and the suspects,
// the slowest first, as many as `most`.
struct Again {
  std::vector<NodePair> controls;
  std::vector<NodePair> suspects;
};

Again to_measure_again(int nodes, std::span<const PairRate> rates, const Level& level);

struct Verdict {
  enum class Kind {
    alike,     // nothing stands out
    guilty,    // the nodes or links named are slow
    one_pair,  // two nodes: nothing to compare with
    most_slow  // a few pairs are much faster than the level: the majority is slow, or these are closer
  };
  Kind kind = Kind::alike;
  std::vector<int> nodes;       // of which nearly all pairs are slow
  std::vector<NodePair> links;  // slow pairs of nodes that are not
  std::vector<NodePair> fast;   // of most_slow
  std::vector<PairRate> slow;   // all slow pairs, as measured last
};

// `alone`: the rates of the pairs measured again. A suspect is cleared by a rate alone that is not slow against those
// of the controls alone; one that was not measured again stays slow. A node is guilty when at least two, and three in
// four, of its pairs with nodes not found guilty before are slow; the worst node first.
Verdict find_guilty(int nodes, std::span<const PairRate> rates, const Level& level, std::span<const PairRate> alone);

// The median of rate at once / rate alone over the healthy pairs; 0 where none was measured alone.
double kept_at_once(std::span<const PairRate> rates, const Level& level, std::span<const PairRate> alone);

// What is below the median of all by the same rule, by position: of things that fail one by one, as rails do.
std::vector<std::size_t> slow_ones(std::span<const double> rates, double least_drop);

// One sentence. `of` is what was measured: "bandwidth", "latency".
std::string sentence(const Verdict& verdict, int nodes, const std::string& of);

}  // namespace claimcheck::bench

#include "bench/node_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace claimcheck::bench {

namespace {

constexpr double deviations_to_outlier = 3.5 / 0.6745;
constexpr double most_drop = 0.5;
constexpr std::size_t control_count = 3;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<double> rate_of(std::span<const PairRate> rates, const NodePair& pair) {
  for (const PairRate& one : rates)
    if (one.pair == pair) return one.rate;
  return std::nullopt;
}

// The better half of the nodes, at least two.
std::set<int> better_nodes(int nodes, std::span<const PairRate> rates) {
  std::vector<double> sums(static_cast<std::size_t>(nodes), 0.0);
  for (const auto& [pair, rate] : rates)
    for (const int node : {pair.first, pair.second}) sums[static_cast<std::size_t>(node)] += rate;
  std::vector<int> order(sums.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return sums[static_cast<std::size_t>(a)] > sums[static_cast<std::size_t>(b)]; });
  const int half = std::max(2, (nodes + 1) / 2);
  return {order.begin(), order.begin() + half};
}

double drop_of(std::vector<double> values, double middle, double least_drop) {
  for (double& value : values) value = std::abs(value - middle);
  const double spread = middle > 0 ? median_of(std::move(values)) / middle : 0;
  return std::clamp(deviations_to_outlier * spread, least_drop, std::max(least_drop, most_drop));
}

// Slow pairs that a node has with others than those in `without`, and all it has with them.
struct Count {
  int slow = 0;
  int all = 0;
  bool guilty() const { return slow >= 2 && 4 * slow >= 3 * all; }
  double share() const { return all == 0 ? 0 : static_cast<double>(slow) / all; }
};

std::vector<Count> count_slow(int nodes, const std::vector<PairRate>& slow, const std::set<int>& without) {
  std::vector<Count> counts(static_cast<std::size_t>(nodes));
  const int left = nodes - static_cast<int>(without.size());
  for (int node = 0; node < nodes; ++node)
    if (!without.contains(node)) counts[static_cast<std::size_t>(node)].all = left - 1;
  for (const PairRate& one : slow) {
    if (without.contains(one.pair.first) || without.contains(one.pair.second)) continue;
    ++counts[static_cast<std::size_t>(one.pair.first)].slow;
    ++counts[static_cast<std::size_t>(one.pair.second)].slow;
  }
  return counts;
}

std::vector<int> guilty_nodes(int nodes, const std::vector<PairRate>& slow) {
  std::set<int> guilty;
  for (;;) {
    const std::vector<Count> counts = count_slow(nodes, slow, guilty);
    int worst = -1;
    for (int node = 0; node < nodes; ++node) {
      const Count& count = counts[static_cast<std::size_t>(node)];
      if (count.guilty() && (worst < 0 || count.share() > counts[static_cast<std::size_t>(worst)].share()))
        worst = node;
    }
    if (worst < 0) return {guilty.begin(), guilty.end()};
    guilty.insert(worst);
  }
}

std::string pair_text(const NodePair& pair) { return fmt::format("{}-{}", pair.first, pair.second); }

std::string list_text(const std::vector<std::string>& items) {
  constexpr std::size_t most = 8;
  if (items.size() <= most) return fmt::format("{}", fmt::join(items, ", "));
  return fmt::format("{} and {} more", fmt::join(items.begin(), items.begin() + most, ", "), items.size() - most);
}

std::string pairs_text(const std::vector<NodePair>& pairs) {
  std::vector<std::string> items;
  for (const NodePair& pair : pairs) items.push_back(pair_text(pair));
  return list_text(items);
}

}  // namespace

std::vector<std::vector<NodePair>> tournament(int nodes) {
  const int seats = nodes + nodes % 2;  // of an odd number one seat is empty
  std::vector<std::vector<NodePair>> rounds;
  for (int round = 0; round < seats - 1; ++round) {
    std::vector<NodePair> pairs;
    for (int i = 0; i < seats / 2; ++i) {
      // The last seat stays, the others move on by one in each round.
      const int one = (round + i) % (seats - 1);
      const int other = i == 0 ? seats - 1 : (round + seats - 1 - i) % (seats - 1);
      if (std::max(one, other) < nodes) pairs.push_back({std::min(one, other), std::max(one, other)});
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

Level level_of(int nodes, std::span<const PairRate> rates, double least_drop) {
  const std::set<int> better = better_nodes(nodes, rates);
  std::vector<PairRate> between;
  std::vector<double> values;
  for (const PairRate& one : rates) {
    if (!better.contains(one.pair.first) || !better.contains(one.pair.second)) continue;
    between.push_back(one);
    values.push_back(one.rate);
  }
  Level level;
  level.rate = median_of(values);
  level.drop = drop_of(values, level.rate, least_drop);
  std::stable_sort(between.begin(), between.end(), [&](const PairRate& a, const PairRate& b) {
    return std::abs(a.rate - level.rate) < std::abs(b.rate - level.rate);
  });
  for (const PairRate& one : between) level.healthy.push_back(one.pair);
  return level;
}

Again to_measure_again(int nodes, std::span<const PairRate> rates, const Level& level) {
  Again again;
  if (nodes < 3) return again;
  for (const NodePair& pair : level.healthy)
    if (again.controls.size() < control_count) again.controls.push_back(pair);
  std::vector<PairRate> slow;
  for (const PairRate& one : rates)
    if (one.rate < level.limit()) slow.push_back(one);
  std::stable_sort(slow.begin(), slow.end(), [](const PairRate& a, const PairRate& b) { return a.rate < b.rate; });
  // Four bad nodes are told by that many; with more the cluster is in no state for a careful look.
  const std::size_t most = 4 * static_cast<std::size_t>(nodes);
  for (const PairRate& one : slow)
    if (again.suspects.size() < most) again.suspects.push_back(one.pair);
  return again;
}

Verdict find_guilty(int nodes, std::span<const PairRate> rates, const Level& level, std::span<const PairRate> alone) {
  Verdict verdict;
  if (nodes < 3) {
    verdict.kind = Verdict::Kind::one_pair;
    return verdict;
  }
  std::vector<double> controls;
  for (const NodePair& pair : level.healthy)
    if (const auto rate = rate_of(alone, pair)) controls.push_back(*rate);
  const double limit_alone = median_of(controls) * (1 - level.drop);
  for (const PairRate& one : rates) {
    if (one.rate * (1 - level.drop) > level.rate) verdict.fast.push_back(one.pair);
    if (one.rate >= level.limit()) continue;
    const std::optional<double> again = rate_of(alone, one.pair);
    if (again && *again > 0 && *again >= limit_alone) continue;
    verdict.slow.push_back({one.pair, again.value_or(one.rate)});
  }
  std::sort(verdict.slow.begin(), verdict.slow.end(), [](const PairRate& a, const PairRate& b) {
    return std::pair(a.pair.first, a.pair.second) < std::pair(b.pair.first, b.pair.second);
  });
  verdict.nodes = guilty_nodes(nodes, verdict.slow);
  const std::set<int> guilty(verdict.nodes.begin(), verdict.nodes.end());
  for (const PairRate& one : verdict.slow)
    if (!guilty.contains(one.pair.first) && !guilty.contains(one.pair.second)) verdict.links.push_back(one.pair);
  if (!verdict.slow.empty())
    verdict.kind = Verdict::Kind::guilty;
  else if (!verdict.fast.empty())
    verdict.kind = Verdict::Kind::most_slow;
  return verdict;
}

double kept_at_once(std::span<const PairRate> rates, const Level& level, std::span<const PairRate> alone) {
  std::vector<double> shares;
  for (const NodePair& pair : level.healthy) {
    const std::optional<double> together = rate_of(rates, pair);
    const std::optional<double> apart = rate_of(alone, pair);
    if (together && apart && *apart > 0) shares.push_back(*together / *apart);
  }
  return median_of(shares);
}

std::vector<std::size_t> slow_ones(std::span<const double> rates, double least_drop) {
  const std::vector<double> values(rates.begin(), rates.end());
  const double middle = median_of(values);
  const double limit = middle * (1 - drop_of(values, middle, least_drop));
  std::vector<std::size_t> slow;
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (rates[i] < limit) slow.push_back(i);
  return slow;
}

std::string sentence(const Verdict& verdict, int nodes, const std::string& of) {
  switch (verdict.kind) {
    case Verdict::Kind::one_pair:
      return fmt::format(
          "{} of one pair: with two nodes there is nothing to compare it with, and a slow node and a slow "
          "link look the same; measure with three or more",
          of);
    case Verdict::Kind::most_slow:
      return fmt::format(
          "{} of most pairs is much worse than of {}: more than half of the nodes are slow, or these are "
          "closer to each other",
          of, pairs_text(verdict.fast));
    case Verdict::Kind::alike:
      return fmt::format(
          "{} of all pairs is alike: no node and no link stands out; what is below the promise is so for "
          "all, a matter of transport, switches or settings",
          of);
    case Verdict::Kind::guilty:
      break;
  }
  std::string text;
  for (const int node : verdict.nodes) {
    const auto slow = std::count_if(verdict.slow.begin(), verdict.slow.end(), [node](const PairRate& one) {
      return one.pair.first == node || one.pair.second == node;
    });
    text +=
        fmt::format("{}node {} is slow ({} with {} of {} nodes)", text.empty() ? "" : "; ", node, of, slow, nodes - 1);
  }
  if (verdict.links.empty()) return text;
  const bool one = verdict.links.size() == 1;
  text += fmt::format("{}the {} {} slow ({}): {} nodes are well with others", text.empty() ? "" : "; ",
                      (one ? "link " : "links ") + pairs_text(verdict.links), one ? "is" : "are", of,
                      one ? "both" : "their");
  return text;
}

}  // namespace claimcheck::bench

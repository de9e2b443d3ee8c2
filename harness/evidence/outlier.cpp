#include "harness/evidence/outlier.h"

#include <algorithm>
#include <cmath>

#include "harness/statistics.h"

namespace claimcheck {
namespace {

constexpr double to_deviation = 1.4826;
constexpr double far = 3.5;
constexpr std::size_t fewest = 3;

struct Limit {
  double usual = 0;
  double lowest = 0;  // of what is not slow
};

Limit limit_of(const std::vector<double>& rates, double least) {
  Limit limit;
  limit.usual = median(rates);
  std::vector<double> distances;
  distances.reserve(rates.size());
  for (const double rate : rates) distances.push_back(std::abs(rate - limit.usual));
  limit.lowest = limit.usual - std::max(far * to_deviation * median(distances), least * limit.usual);
  return limit;
}

std::optional<double> fastest(const std::vector<double>& rates) {
  if (rates.empty()) return std::nullopt;
  return *std::max_element(rates.begin(), rates.end());
}

// What `index` reaches with its fastest partner, in the direction where that is less.
std::optional<double> rate_of(const RateMatrix& rates, std::size_t index) {
  std::vector<double> sent;
  std::vector<double> received;
  for (std::size_t other = 0; other < rates.size(); ++other) {
    if (other == index) continue;
    if (other < rates[index].size() && rates[index][other]) sent.push_back(*rates[index][other]);
    if (index < rates[other].size() && rates[other][index]) received.push_back(*rates[other][index]);
  }
  const auto out = fastest(sent);
  const auto in = fastest(received);
  if (!out || !in) return out ? out : in;
  return std::min(*out, *in);
}

std::vector<SlowPair> slow_pairs(const RateMatrix& rates, const std::vector<Slow>& members, double least) {
  const auto is_slow = [&](std::size_t index) {
    return std::any_of(members.begin(), members.end(),
                       [&](const Slow& slow) { return slow.index == static_cast<int>(index); });
  };
  std::vector<SlowPair> all;
  std::vector<double> values;
  for (std::size_t from = 0; from < rates.size(); ++from)
    for (std::size_t to = 0; to < rates[from].size(); ++to) {
      if (from == to || !rates[from][to] || is_slow(from) || is_slow(to)) continue;
      all.push_back({static_cast<int>(from), static_cast<int>(to), *rates[from][to], 0});
      values.push_back(*rates[from][to]);
    }
  std::vector<SlowPair> slow;
  if (values.size() < fewest) return slow;
  const Limit limit = limit_of(values, least);
  for (SlowPair& pair : all) {
    if (pair.rate >= limit.lowest) continue;
    pair.usual = limit.usual;
    const auto back = std::find_if(slow.begin(), slow.end(), [&](const SlowPair& known) {
      return known.from == pair.to && known.to == pair.from;
    });
    if (back == slow.end()) {
      slow.push_back(pair);
    } else if (pair.rate < back->rate) {
      *back = pair;
    }
  }
  return slow;
}

}  // namespace

std::vector<Slow> slow_ones(std::span<const Member> members, double least) {
  std::vector<Slow> slow;
  if (members.size() < fewest) return slow;
  std::vector<double> rates;
  rates.reserve(members.size());
  for (const Member& member : members) rates.push_back(member.rate);
  const Limit limit = limit_of(rates, least);
  for (const Member& member : members)
    if (member.rate < limit.lowest) slow.push_back({member.index, member.rate, limit.usual});
  return slow;
}

std::optional<Slow> slower_of_two(std::span<const Member> members, double least) {
  if (members.size() != 2) return std::nullopt;
  const bool first = members[0].rate < members[1].rate;
  const Member& low = members[first ? 0 : 1];
  const Member& high = members[first ? 1 : 0];
  if (low.rate >= (1 - least) * high.rate) return std::nullopt;
  return Slow{low.index, low.rate, high.rate};
}

SlowLinks slow_links(const RateMatrix& rates, double least) {
  SlowLinks found;
  if (rates.size() < fewest) return found;
  std::vector<Member> members;
  for (std::size_t index = 0; index < rates.size(); ++index)
    if (const auto rate = rate_of(rates, index)) members.push_back({static_cast<int>(index), *rate});
  found.members = slow_ones(members, least);
  found.pairs = slow_pairs(rates, found.members, least);
  return found;
}

}  // namespace claimcheck

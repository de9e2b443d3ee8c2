#include "bench/pair_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "bench/facts_json.h"

namespace claimcheck::bench {

using kernels::Access;

namespace {

constexpr std::size_t iterations_kept = 256;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string_view to_string(Access access) { return access == Access::direct ? "direct" : "through_host"; }

// Of two devices that reach each other directly; empty when unknown.
std::string link_between(const nlohmann::json& facts, const Pair& pair) {
  const nlohmann::json links = facts.value(fmt::format("gpu{}_nvlinks_to", pair.first), nlohmann::json());
  if (!links.is_array() || pair.second >= links.size()) return {};
  return links[pair.second].get<double>() > 0 ? "nvlink" : "pcie";
}

}  // namespace

std::vector<Pair> ordered_pairs(std::size_t count) {
  std::vector<Pair> pairs;
  for (std::size_t first = 0; first < count; ++first)
    for (std::size_t second = 0; second < count; ++second)
      if (first != second) pairs.push_back({first, second});
  return pairs;
}

std::vector<Pair> unordered_pairs(std::size_t count) {
  std::vector<Pair> pairs;
  for (std::size_t first = 0; first < count; ++first)
    for (std::size_t second = first + 1; second < count; ++second) pairs.push_back({first, second});
  return pairs;
}

PairRun::PairRun(Setting& setting, Lanes& lanes, std::vector<Pair> pairs, bool mirrored, Run run)
    : lanes_(lanes),
      pairs_(std::move(pairs)),
      mirrored_(mirrored),
      run_(std::move(run)),
      passes_(pairs_.size(), 1),
      last_(pairs_.size(), 0.0),
      history_(pairs_.size()) {
  const double wanted = wanted_seconds(setting.options);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    run_(pairs_[pair], 1);  // loads code, opens the way
    // A few at once say what one takes without the start.
    constexpr int few = 4;
    const double seconds = run_(pairs_[pair], few) / few;
    passes_[pair] = static_cast<int>(std::clamp(std::ceil(wanted / std::max(seconds, 1e-9)), 1.0, 1.0 * most_passes));
  }
}

Iteration PairRun::iterate() {
  Iteration iteration;
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    const double seconds = run_(pairs_[pair], passes_[pair]);
    iteration.busy_seconds += seconds;
    iteration.host_seconds += lanes_.host_seconds();
    last_[pair] = seconds / passes_[pair];
    if (history_[pair].size() == iterations_kept) history_[pair].erase(history_[pair].begin());
    history_[pair].push_back(last_[pair]);
  }
  iteration.seconds = slowest(last_);
  return iteration;
}

nlohmann::json PairRun::matrix(const std::function<double(double seconds)>& value) const {
  const nlohmann::json row = std::vector<nlohmann::json>(lanes_.size());
  nlohmann::json rows = std::vector<nlohmann::json>(lanes_.size(), row);
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    if (history_[pair].empty()) continue;
    const double found = value(median_of(history_[pair]));
    rows[pairs_[pair].first][pairs_[pair].second] = found;
    if (mirrored_) rows[pairs_[pair].second][pairs_[pair].first] = found;
  }
  return rows;
}

nlohmann::json access_matrix(kernels::Platform& platform) {
  nlohmann::json rows = nlohmann::json::array();
  for (const kernels::Device* from : platform.devices()) {
    nlohmann::json row = nlohmann::json::array();
    for (const kernels::Device* to : platform.devices())
      row.push_back(from == to ? nlohmann::json(nullptr) : nlohmann::json(to_string(platform.access(*from, *to))));
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::json link_conditions(kernels::Platform& platform, const std::vector<Pair>& pairs) {
  const std::span<kernels::Device* const> devices = platform.devices();
  const nlohmann::json facts = to_json(platform.facts());
  std::set<std::string> accesses;
  std::set<std::string> links;
  for (const Pair& pair : pairs) {
    const Access access = platform.access(*devices[pair.first], *devices[pair.second]);
    accesses.insert(std::string(to_string(access)));
    links.insert(access == Access::direct ? link_between(facts, pair) : "host");
  }
  nlohmann::json conditions = nlohmann::json::object();
  if (accesses.size() == 1) conditions["access"] = *accesses.begin();
  if (links.size() == 1 && !links.begin()->empty()) conditions["link"] = *links.begin();
  return conditions;
}

void require_pair(kernels::Platform& platform) {
  if (!is_gpu(platform)) throw kernels::unsupported("the CPU is one device: there is no other to copy to");
  if (platform.devices().size() < 2) throw kernels::unsupported("there is one device only, no other to copy to");
}

}  // namespace claimcheck::bench

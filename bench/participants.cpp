#include "bench/participants.h"

#include <algorithm>
#include <set>
#include <string>

namespace claimcheck::bench {

using nlohmann::json;

void Participants::describe(json& conditions) const {
  conditions["ranks"] = ranks;
  if (alone) return;
  conditions["processes"] = processes;
  conditions["nodes"] = nodes;
}

Participants first_ranks(Setting& setting, std::size_t count) {
  const std::span<kernels::Device* const> local = setting.platform.ranks();
  Participants result;
  result.ranks = count;
  result.alone = setting.world.processes() == 1;
  std::set<int> nodes;
  std::size_t before = 0;
  result.processes = 0;
  const std::vector<std::string> all = setting.world.gather(std::to_string(local.size()));
  for (std::size_t process = 0; process < all.size(); ++process) {
    const std::size_t ranks = std::stoul(all[process]);
    const std::size_t taken = std::min(ranks, count - std::min(count, before));
    if (static_cast<int>(process) == setting.world.process()) {
      result.first = before;
      result.here = local.first(taken);
    }
    before += ranks;
    if (taken == 0) continue;
    ++result.processes;
    nodes.insert(setting.world.node_of(static_cast<int>(process)));
  }
  result.nodes = static_cast<int>(nodes.size());
  return result;
}

std::vector<std::int64_t> rank_counts(kernels::Platform& platform, const Options& options, std::int64_t least) {
  const std::int64_t all = static_cast<std::int64_t>(platform.ranks().size()) * options.processes;
  const std::int64_t of_node = all / options.nodes;
  std::set<std::int64_t> counts;
  for (std::int64_t ranks = 1; ranks < all; ranks *= 2) counts.insert(ranks);
  for (std::int64_t nodes = 1; nodes < options.nodes; nodes *= 2) counts.insert(nodes * of_node);
  counts.insert(all);
  std::erase_if(counts, [least](std::int64_t count) { return count < least; });
  return {counts.begin(), counts.end()};
}

json slowest_rank(kernels::World& world, const Participants& participants, std::span<const double> seconds) {
  json mine = json::array();
  for (std::size_t i = 0; i < participants.here.size(); ++i)
    mine.push_back({{"rank", participants.first + i},
                    {"name", participants.here[i]->facts().name},
                    {"process", world.process()},
                    {"node", world.node()},
                    {"seconds", seconds[i]}});
  // The slowest and the fastest of each process say enough, and a text for others has to be short.
  const auto by_seconds = [](const json& a, const json& b) {
    return a["seconds"].get<double>() < b["seconds"].get<double>();
  };
  if (mine.size() > 2) {
    const auto [fast, slow] = std::minmax_element(mine.begin(), mine.end(), by_seconds);
    mine = json::array({*fast, *slow});
  }
  json all = json::array();
  for (const std::string& text : world.gather(mine.dump(-1, ' ', false, json::error_handler_t::replace)))
    for (json& rank : json::parse(text)) all.push_back(std::move(rank));
  if (all.empty()) return json::object();
  const auto [fast, slow] = std::minmax_element(all.begin(), all.end(), by_seconds);
  json slowest = *slow;
  if (fast->at("seconds").get<double>() > 0)
    slowest["times_fastest"] = slow->at("seconds").get<double>() / fast->at("seconds").get<double>();
  slowest.erase("seconds");
  if (world.processes() == 1) {
    slowest.erase("process");
    slowest.erase("node");
  }
  return {{"slowest_rank", std::move(slowest)}};
}

}  // namespace claimcheck::bench

#include "bench/rail_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "bench/facts_json.h"

namespace claimcheck::bench {

using nlohmann::json;

namespace {

constexpr std::size_t iterations_kept = 256;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep(std::vector<double>& history, double seconds) {
  if (history.size() == iterations_kept) history.erase(history.begin());
  history.push_back(seconds);
}

std::size_t rail_bytes(kernels::Platform& platform, const Options& options, std::size_t rails) {
  const std::size_t wanted = std::size_t{1} << (is_gpu(platform) ? 27 : 23);
  const kernels::Device& first = *platform.ranks()[0];
  const std::size_t limit = memory_limit(first, is_gpu(platform) ? 1 : rails, options.max_bytes) / 4;
  return std::max<std::size_t>(4096, std::min(wanted, limit) / 4096 * 4096);
}

}  // namespace

std::vector<std::vector<NodePair>> rail_rounds(int nodes) {
  std::vector<std::vector<NodePair>> rounds = {tournament(nodes)[0]};
  for (int node = 0; node < nodes; ++node) {
    const bool busy = std::any_of(rounds[0].begin(), rounds[0].end(),
                                  [node](const NodePair& pair) { return pair.first == node || pair.second == node; });
    if (busy) continue;
    const int other = node == 0 ? 1 : 0;
    rounds.push_back({{std::min(node, other), std::max(node, other)}});
    break;
  }
  return rounds;
}

void RailRun::Slowest::take(const Iteration& iteration, int passes) {
  seconds = std::max(seconds, iteration.seconds / passes);
  busy_seconds = std::max(busy_seconds, iteration.seconds);
  host_seconds = std::max(host_seconds, iteration.host_seconds);
}

RailRun::RailRun(Setting& setting) : setting_(setting), rounds_(rail_rounds(setting.world.nodes())) {
  find_rails();
  for (std::size_t round = 0; round < rounds_.size(); ++round)
    for (const NodePair& nodes : rounds_[round])
      if (nodes.first == setting.world.node() || nodes.second == setting.world.node()) connect(round, nodes);
}

// As many as every node has: its GPUs; of a CPU one core of each process.
void RailRun::find_rails() {
  const kernels::World& world = setting_.world;
  const std::span<kernels::Device* const> ranks = setting_.platform.ranks();
  const std::size_t mine = is_gpu(setting_.platform) ? ranks.size() : 1;
  std::size_t devices = mine;
  for (const std::string& text : setting_.world.gather(std::to_string(mine)))
    devices = std::min(devices, static_cast<std::size_t>(std::stoul(text)));
  std::vector<int> of_node(static_cast<std::size_t>(world.nodes()), 0);
  for (int process = 0; process < world.processes(); ++process)
    ++of_node[static_cast<std::size_t>(world.node_of(process))];
  processes_ = *std::min_element(of_node.begin(), of_node.end());
  devices_.assign(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(devices));
  rails_ = processes_ * static_cast<int>(devices);
  bytes_ = static_cast<double>(
      rail_bytes(setting_.platform, setting_.options, static_cast<std::size_t>(world.local_processes())));
}

int RailRun::process_of(int node, int local_process) const {
  int process = 0;
  for (int before = 0;; ++process)
    if (setting_.world.node_of(process) == node && before++ == local_process) return process;
}

void RailRun::connect(std::size_t round, const NodePair& nodes) {
  const int local = setting_.world.local_process();
  if (local >= processes_) return;
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    auto rail = std::make_unique<Rail>();
    rail->nodes = nodes;
    rail->round = round;
    rail->number = local * static_cast<int>(devices_.size()) + static_cast<int>(device);
    rail->device = device;
    rail->part = kernels::part_of(setting_.world, {process_of(nodes.first, local), process_of(nodes.second, local)},
                                  kernels::Duration(setting_.options.deadline_seconds));
    Setting of_rail{setting_.platform, *rail->part, setting_.options, setting_.chosen, rail->group};
    rail->run =
        std::make_unique<CollectiveRun>(of_rail, kernels::Collective::send_receive, static_cast<std::size_t>(bytes_),
                                        false, std::span(devices_).subspan(device, 1), rail->group);
    own_.push_back(std::move(rail));
  }
}

RailRun::Slowest RailRun::agreed(const Slowest& mine) {
  return {setting_.world.max(mine.seconds), setting_.world.max(mine.busy_seconds),
          setting_.world.max(mine.host_seconds)};
}

RailRun::Slowest RailRun::run_alone(std::size_t round, int number) {
  setting_.world.barrier();
  Slowest slowest;
  for (const auto& rail : own_) {
    if (rail->round != round || rail->number != number) continue;
    const Iteration iteration = rail->run->iterate();
    slowest.take(iteration, rail->run->passes());
    keep(rail->alone, iteration.seconds / rail->run->passes());
  }
  return agreed(slowest);
}

// Waiting for one rail of this process must not hold back another.
RailRun::Slowest RailRun::run_at_once(std::size_t round) {
  std::vector<Rail*> rails;
  for (const auto& rail : own_)
    if (rail->round == round) rails.push_back(rail.get());
  std::vector<Iteration> iterations(rails.size());
  std::vector<std::exception_ptr> failures(rails.size());
  setting_.world.barrier();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < rails.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          iterations[i] = rails[i]->run->iterate();
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  Slowest slowest;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    slowest.take(iterations[i], rails[i]->run->passes());
    keep(rails[i]->at_once, iterations[i].seconds / rails[i]->run->passes());
  }
  return agreed(slowest);
}

Iteration RailRun::iterate() {
  Iteration iteration;
  at_once_seconds_ = 0;
  const auto add = [&iteration](const Slowest& slowest) {
    iteration.busy_seconds += slowest.busy_seconds;
    iteration.host_seconds += slowest.host_seconds;
    return slowest.seconds;
  };
  for (std::size_t round = 0; round < rounds_.size(); ++round) {
    for (int number = 0; number < rails_; ++number)
      iteration.seconds = std::max(iteration.seconds, add(run_alone(round, number)));
    at_once_seconds_ = std::max(at_once_seconds_, add(run_at_once(round)));
  }
  return iteration;
}

void RailRun::verify() {
  for (const auto& rail : own_) rail->run->verify();
}

void RailRun::spoil() {
  if (!own_.empty()) own_.back()->run->spoil();
}

json RailRun::conditions() const {
  return {{"data_type", to_string(collective_type)},
          {"data_pattern", "normal"},
          {"bytes", bytes_},
          {"collective", "send_receive"},
          {"rails", rails_},
          {"ranks", 2},
          {"statistic", "slowest rail, each alone"}};
}

// What a process knows of its rails; those of the first node of a pair speak, the others add their adapters.
json RailRun::evidence() {
  json own = json::array();
  const json facts = to_json(setting_.platform.facts());
  for (const auto& rail : own_)
    own.push_back({{"nodes", {rail->nodes.first, rail->nodes.second}},
                   {"rail", rail->number},
                   {"alone_gbps", bytes_ / median_of(rail->alone) / 1e9},
                   {"at_once_gbps", bytes_ / median_of(rail->at_once) / 1e9},
                   {"adapters", facts.value(fmt::format("gpu{}_nearest_nics", rail->device), json())},
                   {"transport", to_json(rail->group->facts()).value("transport", json())}});
  json rails = json::array();
  std::vector<double> rates;
  std::vector<json> seconds;
  for (const std::string& text : setting_.world.gather(own.dump(-1, ' ', false, json::error_handler_t::replace))) {
    json theirs = json::parse(text);
    for (json& entry : theirs) {
      const auto known = std::find_if(rails.begin(), rails.end(), [&](const json& one) {
        return one["nodes"] == entry["nodes"] && one["rail"] == entry["rail"];
      });
      if (known == rails.end()) {
        entry["adapters"] = json::array({entry["adapters"]});
        rails.push_back(std::move(entry));
        continue;
      }
      // The slower end's word counts.
      for (const char* rate : {"alone_gbps", "at_once_gbps"})
        (*known)[rate] = std::min((*known)[rate].get<double>(), entry[rate].get<double>());
      (*known)["adapters"].push_back(std::move(entry["adapters"]));
    }
  }
  for (const json& rail : rails) rates.push_back(rail["alone_gbps"]);
  const auto slowest = static_cast<std::size_t>(std::min_element(rates.begin(), rates.end()) - rates.begin());
  std::string verdict;
  for (const std::size_t slow : slow_ones(rates, least_drop_of_bandwidth))
    verdict += fmt::format("{}rail {} between nodes {} and {} is slow ({:.3g} GB/s)", verdict.empty() ? "" : "; ",
                           rails[slow]["rail"].get<int>(), rails[slow]["nodes"][0].get<int>(),
                           rails[slow]["nodes"][1].get<int>(), rates[slow]);
  if (verdict.empty()) verdict = "all rails are alike";
  return {{"verdict", verdict}, {"slowest_rail", rails[slowest]}, {"rails", rails}};
}

}  // namespace claimcheck::bench

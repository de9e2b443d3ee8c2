// Every two nodes of a run, in rounds and the suspects alone: the slowest pair, and which node or link is to blame.
#include <memory>

#include "bench/node_sweep.h"

namespace claimcheck::bench {
namespace {

constexpr const char* latency_metric = "network.pair.latency.us";

std::vector<Case> cases(kernels::Platform& platform, const Options& options) {
  require_nodes(options);
  // Connecting takes a group of GPUs seconds. Rounds, and twice alone pairs to compare with and those of one bad node.
  const double pair_seconds = is_gpu(platform) ? 3 : 1;
  const int pairs = options.nodes < 3 ? 3 : 3 * options.nodes + 6;
  return {{.label = "", .setup_seconds = pair_seconds * pairs}};
}

Prepared prepare(Setting& setting) {
  const auto sweep = std::make_shared<NodeSweep>(setting);
  Prepared prepared;
  prepared.work = sweep->bus_bytes();
  prepared.run = [sweep] {
    Iteration iteration = sweep->iterate();
    iteration.also = {{latency_metric, sweep->latency_us()}};
    return iteration;
  };
  prepared.verify = [sweep] { sweep->verify(); };
  prepared.spoil = [sweep] { sweep->spoil(); };
  const std::span<kernels::Device* const> ranks = setting.platform.ranks();
  prepared.devices.assign(ranks.begin(), ranks.end());
  prepared.conditions = sweep->conditions();
  prepared.evidence = [sweep] { return sweep->evidence(); };
  prepared.also_conditions[latency_metric] = {{"bytes", 8}, {"statistic", "pair of nodes that answers last, alone"}};
  return prepared;
}

const bool declared = add({.id = "network.pair",
                           .metric = "network.pair.busbw.gbps",
                           .unit = "GB/s",
                           .method = "network.pair/1",
                           .summary = "All-reduce between every two nodes, all at work at once and suspects alone: the "
                                      "slowest pair, and the bad node or link by name.",
                           .scope = Scope::ranks,
                           .priority = 1,
                           .also = {{latency_metric, "us"}},
                           .cases = cases,
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

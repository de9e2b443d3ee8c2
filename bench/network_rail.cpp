// Same-numbered devices of two nodes: each pair of devices alone, and all at once.
#include <memory>

#include "bench/node_sweep.h"
#include "bench/rail_run.h"

namespace claimcheck::bench {
namespace {

constexpr const char* at_once_metric = "network.rail.at_once.gbps";

std::vector<Case> cases(kernels::Platform& platform, const Options& options) {
  require_nodes(options);
  return {{.label = "", .setup_seconds = is_gpu(platform) ? 20.0 : 2.0}};
}

Prepared prepare(Setting& setting) {
  const auto run = std::make_shared<RailRun>(setting);
  Prepared prepared;
  prepared.work = run->bytes();
  prepared.run = [run] {
    Iteration iteration = run->iterate();
    iteration.also = {{at_once_metric, run->bytes() / run->at_once_seconds() / 1e9}};
    return iteration;
  };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  const std::span<kernels::Device* const> ranks = setting.platform.ranks();
  prepared.devices.assign(ranks.begin(), ranks.end());
  prepared.conditions = run->conditions();
  prepared.also_conditions[at_once_metric] = {{"statistic", "slowest rail, all at once"}};
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

const bool declared =
    add({.id = "network.rail",
         .metric = "network.rail.gbps",
         .unit = "GB/s",
         .method = "network.rail/1",
         .summary = "Send and receive between same-numbered devices of two nodes, each rail alone and all "
                    "at once; the slowest rail.",
         .scope = Scope::ranks,
         .quick = false,
         .also = {{at_once_metric, "GB/s"}},
         .cases = cases,
         .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

// Every adapter of a node to the same one of another, by perftest.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "bench/child_process.h"
#include "bench/nic_run.h"
#include "bench/node_sweep.h"

namespace claimcheck::bench {
namespace {

using Fabrics = std::vector<std::string>;

std::vector<Case> cases(const Options& options, const Fabrics& fabrics) {
  const std::vector<RdmaPort> all = rdma_ports(system_root());
  const auto ports = std::count_if(all.begin(), all.end(), [&](const RdmaPort& port) {
    return std::find(fabrics.begin(), fabrics.end(), port.fabric) != fabrics.end();
  });
  if (ports == 0)
    throw kernels::unsupported(
        fmt::format("there is no active {} port in /sys/class/infiniband", fmt::join(fabrics, " or ")));
  require_nodes(options);
  for (const RdmaTest test : {RdmaTest::write, RdmaTest::read, RdmaTest::send_latency})
    require_program(perftest_program(test), "perftest");
  // A test is over in a second or two; with an odd number of nodes there are two rounds.
  const double once = 2.0 * static_cast<double>(ports) * (options.nodes % 2 == 0 ? 1 : 2);
  return {{.label = "", .setup_seconds = 3 * once, .iteration_seconds = once}};
}

Prepared prepare(Setting& setting, const std::string& id, const Fabrics& fabrics) {
  const auto run = std::make_shared<NicRun>(setting, fabrics);
  Prepared prepared;
  prepared.run = [run, id] {
    Iteration iteration = run->iterate();
    iteration.also = {{id + ".gbps", run->slowest_write_gbps()},
                      {id + ".read.gbps", run->slowest_read_gbps()},
                      {id + ".latency.us", run->largest_latency_us()}};
    return iteration;
  };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  prepared.warm_up = false;
  return prepared;
}

bool declare(const std::string& id, const Fabrics& fabrics, const char* what) {
  return add(
      {.id = id,
       .metric = id + ".gbps",
       .unit = "GB/s",
       .method = id + "/1",
       .summary = fmt::format("RDMA writes, reads and latency between two nodes over {}, each alone, by perftest; "
                              "the slowest.",
                              what),
       .scope = Scope::machine,
       .rate = Rate::ratio,
       .quick = false,
       .also = {{id + ".read.gbps", "GB/s"}, {id + ".latency.us", "us"}},
       .cases = [fabrics](kernels::Platform&, const Options& options) { return cases(options, fabrics); },
       .prepare = [id, fabrics](Setting& setting) { return prepare(setting, id, fabrics); }});
}

const bool declared = declare("network.ib", {"infiniband", "roce"}, "every InfiniBand or RoCE port") &&
                      declare("network.efa", {"efa"}, "every Elastic Fabric Adapter");

}  // namespace
}  // namespace claimcheck::bench

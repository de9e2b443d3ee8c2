// Bus bandwidth of all-reduce between more and more ranks, compared with that of the first two, in turn within every
// iteration: what shared links and the network between nodes leave of it.
#include <fmt/format.h>

#include <algorithm>

#include "bench/collective_run.h"
#include "bench/participants.h"

namespace claimcheck::bench {
namespace {

constexpr const char* efficiency_metric = "scaling.allreduce.efficiency";

std::vector<Case> cases(kernels::Platform& platform, const Options& options) {
  if (platform.ranks().size() * static_cast<std::size_t>(options.processes) < 2)
    throw kernels::unsupported("there is one rank only, nobody to exchange with",
                               "all-reduce needs two devices, or two CPU cores");
  const std::vector<std::int64_t> counts = rank_counts(platform, options, 2);
  std::vector<Case> result;
  for (const std::int64_t ranks : counts)
    result.push_back({.label = fmt::format("ranks:{}", ranks), .value = ranks, .quick = false});
  return result;
}

// Large enough that latency plays no part; four buffers in each rank's memory.
std::size_t size_bytes(Setting& setting) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const bool cpu = !is_gpu(setting.platform);
  const auto ranks = setting.platform.ranks();
  std::size_t limit = memory_limit(*ranks[0], cpu ? ranks.size() : 1, setting.options.max_bytes) / 4;
  // All processes take what the one with the least memory can.
  limit = static_cast<std::size_t>(-setting.world.max(-static_cast<double>(limit)));
  return std::max<std::size_t>(std::min((cpu ? 16 : 1024) * mib, limit) / 4096, 1) * 4096;
}

// Between some ranks, with a group of their own unless they are all.
struct Measured {
  std::shared_ptr<kernels::Group> own;
  std::unique_ptr<CollectiveRun> run;

  Measured(Setting& setting, const Participants& participants, bool all) {
    run = std::make_unique<CollectiveRun>(setting, kernels::Collective::all_reduce, size_bytes(setting), false,
                                          participants.here, all ? setting.group : own);
  }
  double bus_gbps(double seconds) const { return run->bus_bytes() / seconds / 1e9; }
};

Prepared prepare(Setting& setting) {
  const auto count = static_cast<std::size_t>(setting.chosen.value);
  const auto all = rank_counts(setting.platform, setting.options).back();
  const Participants participants = first_ranks(setting, count);
  const auto two = std::make_shared<Measured>(setting, first_ranks(setting, 2), all == 2);
  const auto many = count == 2 ? two : std::make_shared<Measured>(setting, participants, setting.chosen.value == all);
  kernels::World& world = setting.world;

  Prepared prepared;
  prepared.work = many->run->bus_bytes();
  prepared.verify = [two, many] {
    two->run->verify();
    if (many != two) many->run->verify();
  };
  prepared.spoil = [many] { many->run->spoil(); };
  prepared.devices = many->run->devices();
  prepared.conditions = many->run->conditions();
  participants.describe(prepared.conditions);
  prepared.evidence = [many] { return many->run->evidence(); };
  if (many == two) {
    prepared.run = [two] {
      Iteration iteration = two->run->iterate();
      iteration.also = {{efficiency_metric, 1.0}};  // of themselves
      return iteration;
    };
    return prepared;
  }
  prepared.run = [two, many, &world] {
    const Iteration few = two->run->iterate();
    const double two_seconds = world.max(few.seconds);  // the others wait for it
    Iteration iteration = many->run->iterate();
    const double seconds = world.max(iteration.seconds);
    iteration.busy_seconds = two_seconds + seconds;
    // Who only waited has no clocks to compare.
    iteration.host_seconds = iteration.idle ? iteration.busy_seconds : few.host_seconds + iteration.host_seconds;
    iteration.also = {{efficiency_metric, many->bus_gbps(seconds) / two->bus_gbps(two_seconds)}};
    return iteration;
  };
  return prepared;
}

const bool declared = add({.id = "scaling.allreduce",
                           .metric = "scaling.allreduce.busbw.gbps",
                           .unit = "GB/s",
                           .method = "scaling.allreduce/1",
                           .summary = "Bus bandwidth of all-reduce between N ranks, compared with that of two.",
                           .scope = Scope::ranks,
                           .priority = 3,
                           .quick = false,
                           .setup_seconds = 5,  // two groups connect
                           .also = {{efficiency_metric, "1"}},
                           .cases = cases,
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

// Collectives between all ranks, from 8 bytes to as much as makes sense.
#include <fmt/format.h>

#include <algorithm>

#include "bench/collective_run.h"

namespace claimcheck::bench {
namespace {

using kernels::Collective;

constexpr std::int64_t smallest_bytes = 8;

std::size_t all_ranks(kernels::Platform& platform, const Options& options) {
  return platform.ranks().size() * static_cast<std::size_t>(options.processes);
}

// In steps of 8 and the largest: on a CPU where the buffers of all ranks take four caches (16 MiB to 1 GiB), on GPUs
// 8 GiB, as far as both buffers fit into a quarter of the memory. All of it, not what is free now: ids must not change
// from one process to the next.
std::vector<std::int64_t> sizes(kernels::Platform& platform, const Options& options) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const bool cpu = !is_gpu(platform);
  const std::size_t ranks = platform.ranks().size();
  const kernels::DeviceFacts& rank = platform.ranks()[0]->facts();
  const std::size_t share = rank.memory_bytes / 4 / (cpu ? ranks : 1);
  const std::size_t limit = (options.max_bytes == 0 ? share : std::min(share, options.max_bytes)) / 2;
  const std::size_t beyond_cache = 4 * rank.last_level_cache_bytes / (2 * all_ranks(platform, options));
  const std::size_t wanted = cpu ? std::clamp(beyond_cache, 16 * mib, 1024 * mib) : 8192 * mib;
  const auto largest = static_cast<std::int64_t>(std::min(wanted, limit) / 4096 * 4096);
  std::vector<std::int64_t> result;
  for (std::int64_t bytes = smallest_bytes; 2 * bytes <= largest; bytes *= 8) result.push_back(bytes);
  result.push_back(std::max(largest, smallest_bytes));
  return result;
}

// Filling takes a GPU nearly nothing, its results are checked by sample; a CPU does all of it itself.
double setup_seconds(kernels::Platform& platform, std::int64_t bytes) {
  return is_gpu(platform) ? 1 + 0.3e-9 * static_cast<double>(bytes) : 0.2 + 30e-9 * static_cast<double>(bytes);
}

void refuse_single(kernels::Platform& platform, const Options& options) {
  if (all_ranks(platform, options) < 2)
    throw kernels::unsupported("there is one rank only, nobody to exchange with",
                               "collectives need two devices, or two CPU cores");
}

// The quick profile takes what training needs most: the largest size of three collectives, and of all-reduce the sizes
// before it, which show whether it still grows: the curve of GPUs, one size on a CPU.
std::vector<Case> cases(kernels::Platform& platform, const Options& options, Collective collective) {
  refuse_single(platform, options);
  const std::vector<std::int64_t> all = sizes(platform, options);
  const bool first = collective == Collective::all_reduce;
  const std::size_t shown = !first ? 1 : is_gpu(platform) ? 6 : 2;
  const bool quick = first || collective == Collective::all_gather || collective == Collective::reduce_scatter;
  std::vector<Case> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double setup = setup_seconds(platform, all[i]);
    const std::string label = fmt::format("bytes:{}", all[i]);
    result.push_back(
        {.label = label, .value = all[i], .quick = quick && i + shown >= all.size(), .setup_seconds = setup});
    if (first && i + 1 == all.size())
      result.push_back({.label = label + "/in_place",
                        .value = all[i],
                        .variant = "in_place",
                        .quick = false,
                        .setup_seconds = setup});
  }
  return result;
}

Prepared prepared_from(const std::shared_ptr<CollectiveRun>& run) {
  Prepared prepared;
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.run = [run] { return run->iterate(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

Prepared prepare_bandwidth(Setting& setting, Collective collective, const std::string& algbw) {
  const auto run = std::make_shared<CollectiveRun>(setting, collective, static_cast<std::size_t>(setting.chosen.value),
                                                   setting.chosen.variant == "in_place");
  Prepared prepared = prepared_from(run);
  prepared.work = run->bus_bytes();
  prepared.run = [run, algbw] {
    Iteration iteration = run->iterate();
    iteration.also = {{algbw, run->bytes_moved() / iteration.seconds / 1e9}};
    return iteration;
  };
  return prepared;
}

Prepared prepare_latency(Setting& setting, Collective collective) {
  const auto run = std::make_shared<CollectiveRun>(setting, collective, smallest_bytes, false);
  Prepared prepared = prepared_from(run);
  prepared.work = run->passes();
  return prepared;
}

bool declare(Collective collective, const std::string& id, const std::string& what, int priority) {
  const std::string algbw = id + ".algbw.gbps";
  const bool bandwidth =
      add({.id = id,
           .metric = id + ".busbw.gbps",
           .unit = "GB/s",
           .method = id + "/1",
           .summary = fmt::format("Bus bandwidth of {} between all ranks.", what),
           .scope = Scope::ranks,
           .priority = priority,
           .also = {{algbw, "GB/s"}},
           .cases = [collective](kernels::Platform& platform,
                                 const Options& options) { return cases(platform, options, collective); },
           .prepare = [collective, algbw](Setting& setting) { return prepare_bandwidth(setting, collective, algbw); }});
  const bool latency =
      add({.id = id + ".latency",
           .metric = id + ".latency.us",
           .unit = "us",
           .method = id + ".latency/1",
           .summary = fmt::format("Time of {} of 8 bytes between all ranks.", what),
           .scope = Scope::ranks,
           .rate = Rate::seconds,
           .priority = priority + 1,
           .quick = collective == Collective::all_reduce,
           .setup_seconds = 0.2,
           .cases =
               [](kernels::Platform& platform, const Options& options) {
                 refuse_single(platform, options);
                 return std::vector<Case>{Case{}};
               },
           .prepare = [collective](Setting& setting) { return prepare_latency(setting, collective); }});
  return bandwidth && latency;
}

const bool declared = declare(Collective::all_reduce, "allreduce", "an all-reduce", 1) &&
                      declare(Collective::all_gather, "allgather", "an all-gather", 2) &&
                      declare(Collective::reduce_scatter, "reducescatter", "a reduce-scatter", 2) &&
                      declare(Collective::broadcast, "broadcast", "a broadcast", 2) &&
                      declare(Collective::send_receive, "sendrecv", "a send and a receive", 2) &&
                      declare(Collective::all_to_all, "alltoall", "an all-to-all", 2);

}  // namespace
}  // namespace claimcheck::bench

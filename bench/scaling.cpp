// Weak scaling: the same work on one rank alone and on several at once, of one process or many, in turn within every
// iteration.
#include <fmt/format.h>

#include <algorithm>

#include "bench/gemm_load.h"
#include "bench/memory_load.h"
#include "bench/participants.h"

namespace claimcheck::bench {
namespace {

using kernels::DataType;

std::vector<Case> cases(kernels::Platform& platform, const Options& options) {
  const std::vector<std::int64_t> counts = rank_counts(platform, options);
  std::vector<Case> result;
  for (const std::int64_t ranks : counts)
    result.push_back({.label = fmt::format("ranks:{}", ranks), .value = ranks, .quick = ranks == counts.back()});
  return result;
}

Prepared prepare(Setting& setting, const std::string& id, const LoadRun::Make& make) {
  const Participants participants = first_ranks(setting, static_cast<std::size_t>(setting.chosen.value));
  const auto run = std::make_shared<LoadRun>(setting, participants.here, make);
  const auto totals = std::make_shared<std::vector<double>>(participants.here.size(), 0.0);
  const std::string efficiency = id + ".efficiency";
  kernels::World& world = setting.world;

  Prepared prepared = prepared_from(run);
  prepared.work = static_cast<double>(participants.ranks) * run->work();
  participants.describe(prepared.conditions);
  prepared.run = [run, totals, efficiency, &world] {
    // The first rank alone: the others wait until its time is told.
    const Iteration single = world.process() == 0 ? run->iterate(1) : Iteration{};
    const double alone = world.max(single.seconds);
    const Iteration together = run->iterate();
    for (std::size_t rank = 0; rank < run->size(); ++rank) (*totals)[rank] += together.device_seconds[rank];
    Iteration iteration;  // without device_seconds: its value is the total, not one of a device
    iteration.idle = together.idle;
    iteration.seconds = together.seconds;
    const double slowest = world.max(together.seconds);
    iteration.busy_seconds = alone + slowest;
    // Who only waited has no clocks to compare.
    iteration.host_seconds = together.idle ? iteration.busy_seconds : single.host_seconds + together.host_seconds;
    iteration.also = {{efficiency, alone / slowest}};
    return iteration;
  };
  prepared.evidence = [run, totals, participants, &world] {
    nlohmann::json evidence = run->evidence();
    evidence.update(slowest_rank(world, participants, *totals));
    return evidence;
  };
  return prepared;
}

// Ranks that are cores share one memory.
std::size_t limit_of_rank(Setting& setting, const kernels::Device& device) {
  const bool cores = setting.platform.ranks().size() > setting.platform.devices().size();
  return memory_limit(device, cores ? setting.platform.ranks().size() : 1, setting.options.max_bytes);
}

Prepared prepare_memory(Setting& setting) {
  const auto sums = std::make_shared<ReferenceSums>();
  return prepare(setting, "scaling.memory", [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
    return make_memory_load(device, stream,
                            {.kernel = kernels::MemoryKernel::triad,
                             .wanted_bytes = wanted_bytes(setting.platform, device),
                             .limit_bytes = limit_of_rank(setting, device),
                             .seed = setting.options.seed,
                             .sums = sums});
  });
}

// What training uses most, else what every device has.
DataType gemm_type(kernels::Device& device, const kernels::GemmShape& shape) {
  try {
    device.make_gemm(DataType::bf16, shape);
    return DataType::bf16;
  } catch (const kernels::Error& error) {
    if (error.detail().outcome != kernels::Outcome::unsupported) throw;
    return DataType::fp32;
  }
}

Prepared prepare_gemm(Setting& setting) {
  const bool cpu = setting.platform.kind() == "host";
  const std::int64_t n = std::min<std::int64_t>(setting.options.max_gemm, cpu ? 1024 : 8192);
  const DataType type = gemm_type(*setting.platform.ranks()[0], {n, n, n});
  const auto references = std::make_shared<ProductReferences>();
  return prepare(setting, "scaling.gemm", [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
    return make_gemm_load(device, stream,
                          {.type = type,
                           .shape = {n, n, n},
                           .limit_bytes = limit_of_rank(setting, device),
                           .seed = setting.options.seed,
                           .references = references});
  });
}

Benchmark scaling(const std::string& id, const std::string& metric, const std::string& unit, const std::string& what) {
  return {.id = id,
          .metric = id + metric,
          .unit = unit,
          .method = id + "/1",
          .summary = fmt::format("{} of several ranks at once in total, and compared with one alone.", what),
          .scope = Scope::ranks,
          .setup_seconds = 3,  // and one rank alone beside every iteration
          .also = {{id + ".efficiency", "1"}},
          .cases = cases,
          .prepare = {}};
}

bool declare() {
  Benchmark memory = scaling("scaling.memory", ".gbps", "GB/s", "Memory bandwidth (triad)");
  memory.prepare = prepare_memory;
  Benchmark gemm = scaling("scaling.gemm", ".tflops", "TFLOPS", "Matrix products (bf16, or fp32)");
  gemm.prepare = prepare_gemm;
  return add(std::move(memory)) && add(std::move(gemm));
}

const bool declared = declare();

}  // namespace
}  // namespace claimcheck::bench

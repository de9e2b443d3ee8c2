// Burn-in: matrix products and passes over memory on every device at once, for minutes to hours, in segments that are
// each reported when they end: what was found is kept when the next one kills the worker.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/lanes.h"
#include "bench/soak_run.h"

namespace claimcheck::bench {
namespace {

constexpr double first_setup_seconds = 10;  // buffers, the reference
constexpr double setup_seconds = 0.3;       // of the segments after it

int segments(const Options& options) {
  return std::max(1, static_cast<int>(std::lround(options.soak_seconds / options.soak_segment_seconds)));
}

double segment_seconds(const Options& options) { return options.soak_seconds / segments(options); }

// The segment's length is in the estimate of its setup: it does not depend on how often it is repeated.
std::vector<Case> cases(kernels::Platform& platform, const Options& options) {
  const double first = is_gpu(platform) ? first_setup_seconds : first_setup_seconds / 5;
  std::vector<Case> result;
  for (int number = 1; number <= segments(options); ++number)
    result.push_back({.label = fmt::format("segment:{}", number),
                      .value = number,
                      .setup_seconds = segment_seconds(options) + (number == 1 ? first : setup_seconds)});
  return result;
}

Prepared prepare(Setting& setting) {
  std::shared_ptr<void> none;
  std::shared_ptr<void>& kept = setting.kept == nullptr ? none : *setting.kept;
  if (!kept) kept = std::make_shared<SoakRun>(setting);
  const auto run = std::static_pointer_cast<SoakRun>(kept);
  run->begin_segment();
  // One iteration is not counted: it is what the check before the repetitions looks at.
  const Options& options = setting.options;
  const double seconds = std::max(options.min_time_seconds, segment_seconds(options) / (options.repetitions + 1));
  Prepared prepared;
  prepared.work = run->work();
  prepared.run = [run, seconds, alive = setting.alive] { return run->iterate(seconds, alive); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.conditions.update({{"segment", setting.chosen.value},
                              {"segments", segments(options)},
                              {"segment_seconds", segment_seconds(options)},
                              {"duration_seconds", options.soak_seconds}});
  prepared.evidence = [run] { return run->evidence(); };
  prepared.evidence_after_failure = true;
  prepared.warm_up = false;
  return prepared;
}

const bool declared = add({.id = "soak",
                           .metric = "soak.gemm.tflops",
                           .unit = "TFLOPS",
                           .method = "soak/1",
                           .summary = "Matrix products and memory passes on every device at once for --duration, every "
                                      "output compared bit by bit.",
                           .scope = Scope::each_device,
                           .priority = 1,
                           .quick = false,
                           .soak = true,
                           .also = {{"soak.memory.gbps", "GB/s"}},
                           .cases = cases,
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

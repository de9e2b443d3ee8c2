// A training step: a transformer, forward, backward and AdamW, data-parallel over all ranks; and how its speed scales.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/training_run.h"

namespace claimcheck::bench {
namespace {

struct Preset {
  const char* name;
  TransformerShape shape;  // with the largest batch worth trying
  bool quick;
};

// 125m and 1.3b after Brown et al., "Language models are few-shot learners", 2020, table 2.1, with a SwiGLU of the same
// weight; 7b_block: two layers of LLaMA 7B (Touvron et al., 2023, table 2). The small ones are for CPUs and tests.
constexpr std::array<Preset, 5> presets = {{{"nano", {1, 32, 2, 64, 32, 16, 1}, true},
                                            {"tiny", {4, 256, 4, 640, 2048, 128, 4}, true},
                                            {"125m", {12, 768, 12, 2048, 32000, 1024, 8}, true},
                                            {"1.3b", {24, 2048, 16, 5504, 32000, 2048, 4}, false},
                                            {"7b_block", {2, 4096, 32, 11008, 32000, 2048, 4}, false}}};

// A limited run (--max-gemm, tests) gets small models only; GPUs get no toys beside real ones.
bool fits_kind(const kernels::Platform& platform, const Options& options, const Preset& preset) {
  if (preset.shape.hidden > options.max_gemm) return false;
  if (!is_gpu(platform)) return preset.shape.width <= 256 && (preset.shape.width > 32 || options.max_gemm < 640);
  return preset.shape.width > 256 || options.max_gemm < 2048;
}

const Preset& preset_of(const Case& chosen) { return presets[static_cast<std::size_t>(chosen.value)]; }

std::vector<std::size_t> presets_for(const kernels::Platform& platform, const Options& options) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < presets.size(); ++i)
    if (fits_kind(platform, options, presets[i])) result.push_back(i);
  // The toys of a limited run: the largest alone.
  if (!result.empty() && presets[result.back()].shape.width <= 256) result.erase(result.begin(), result.end() - 1);
  return result;
}

std::vector<Case> cases_of(kernels::Platform& platform, const Options& options) {
  platform.ranks()[0]->make_neural();  // says "unsupported" here, before anything runs
  std::vector<Case> result;
  for (const std::size_t i : presets_for(platform, options)) {
    const auto states = static_cast<double>(presets[i].shape.parameters());
    result.push_back({.label = presets[i].name,
                      .value = static_cast<std::int64_t>(i),
                      .quick = presets[i].quick && !(is_gpu(platform) && presets[i].shape.width <= 256),
                      .setup_seconds = 1 + 3e-9 * states,
                      .iteration_seconds = is_gpu(platform) ? 0.1 : 0.3});
  }
  if (result.empty()) throw kernels::unsupported("every model is larger than --max-gemm allows");
  return result;
}

// The largest batch, in halves, with which the model fits into what is free now.
TransformerShape fitted(Setting& setting, TransformerShape shape, std::size_t limit) {
  const kernels::DataType type = setting.platform.ranks()[0]->make_neural()->type();
  while (shape.batch > 1 && Transformer::bytes(shape, type) > limit) shape.batch /= 2;
  const std::size_t wanted = Transformer::bytes(shape, type);
  // All processes take the batch of the one with the least memory.
  shape.batch = static_cast<std::int64_t>(-setting.world.max(-static_cast<double>(wanted > limit ? 0 : shape.batch)));
  if (shape.batch == 0)
    throw kernels::unsupported(fmt::format("the model takes {:.1f} MiB with one sequence, {:.1f} MiB may be used",
                                           static_cast<double>(wanted) / (1 << 20),
                                           static_cast<double>(limit) / (1 << 20)));
  return shape;
}

// Of one rank; ranks that are cores share one memory.
std::size_t limit_of_rank(Setting& setting) {
  const auto ranks = setting.platform.ranks();
  const bool cores = ranks.size() > setting.platform.devices().size();
  std::size_t least = memory_limit(*ranks[0], cores ? ranks.size() : 1, setting.options.max_bytes);
  for (const kernels::Device* device : ranks)
    least = std::min(least, memory_limit(*device, cores ? ranks.size() : 1, setting.options.max_bytes));
  return least;
}

std::shared_ptr<kernels::Group> group_of(Setting& setting) {
  if (setting.platform.ranks().size() * static_cast<std::size_t>(setting.world.processes()) < 2) return nullptr;
  if (!setting.group) setting.group = setting.platform.make_group(setting.platform.ranks(), setting.world);
  return setting.group;
}

Prepared prepared_from(const std::shared_ptr<TrainingRun>& run) {
  Prepared prepared;
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

Prepared prepare_step(Setting& setting) {
  const TransformerShape shape = fitted(setting, preset_of(setting.chosen).shape, limit_of_rank(setting));
  const auto run = std::make_shared<TrainingRun>(setting, setting.platform.ranks(), shape, group_of(setting));
  Prepared prepared = prepared_from(run);
  prepared.work = shape.step_flop();  // of a device
  prepared.run = [run] {
    const TrainingRun::Step step = run->step();
    const auto ranks = static_cast<double>(run->ranks());
    Iteration iteration;
    iteration.seconds = step.seconds;
    iteration.device_seconds = step.device_seconds;
    iteration.also = {{"training.tokens_per_second", ranks * static_cast<double>(run->shape().tokens()) / step.seconds},
                      {"training.samples_per_second", ranks * static_cast<double>(run->shape().batch) / step.seconds},
                      {"training.step.seconds", step.seconds},
                      {"training.exposed_communication.share", step.exposed_seconds / step.seconds}};
    return iteration;
  };
  return prepared;
}

// One rank alone and all together, in turn. Weak: each has the same batch in both; strong: the batch that one rank has
// alone is shared among all.
Prepared prepare_scaling(Setting& setting, bool strong) {
  const auto ranks = static_cast<std::int64_t>(setting.platform.ranks().size());
  if (setting.world.processes() > 1)
    throw kernels::unsupported("one process must have all ranks, so that one of them can also work alone",
                               "start one process to compare");
  if (ranks < 2) throw kernels::unsupported("there is one rank only, nothing to compare it with");
  TransformerShape shape = preset_of(setting.chosen).shape;
  if (strong) shape.batch = std::max(shape.batch, ranks);
  TransformerShape alone = fitted(setting, shape, limit_of_rank(setting) / 2);
  if (strong) alone.batch -= alone.batch % ranks;
  if (alone.batch == 0)
    throw kernels::unsupported(
        fmt::format("{} sequences, one for each rank, do not fit into one rank's memory", ranks));
  TransformerShape shared = alone;
  if (strong) shared.batch /= ranks;
  const auto single = std::make_shared<TrainingRun>(setting, setting.platform.ranks().first(1), alone, nullptr);
  const auto together = std::make_shared<TrainingRun>(setting, setting.platform.ranks(), shared, group_of(setting));
  Prepared prepared = prepared_from(together);
  prepared.conditions["scaling"] = strong ? "strong" : "weak";
  prepared.conditions["batch_alone"] = alone.batch;
  prepared.work = static_cast<double>(ranks * shared.tokens());
  const std::string efficiency = fmt::format("scaling.training.{}.efficiency", strong ? "strong" : "weak");
  prepared.run = [single, together, efficiency, ranks, strong] {
    const double before = single->step().seconds;
    const TrainingRun::Step step = together->step();
    Iteration iteration;
    iteration.seconds = step.seconds;
    iteration.busy_seconds = before + step.seconds;
    iteration.also = {{efficiency, before / step.seconds / (strong ? static_cast<double>(ranks) : 1)}};
    return iteration;
  };
  return prepared;
}

bool declare_step() {
  return add({.id = "training",
              .metric = "training.tflops",
              .unit = "TFLOPS",
              .method = "training/1",
              .summary = "Model FLOP rate of each device in a data-parallel training step of a transformer.",
              .scope = Scope::ranks,
              .priority = 2,
              .setup_seconds = 2,
              .also = {{"training.tokens_per_second", "tokens/s"},
                       {"training.samples_per_second", "samples/s"},
                       {"training.step.seconds", "s"},
                       {"training.exposed_communication.share", "1"}},
              .cases = cases_of,
              .prepare = prepare_step});
}

bool declare_scaling(bool strong) {
  const std::string kind = strong ? "strong" : "weak";
  return add(
      {.id = "scaling.training." + kind,
       .metric = "scaling.training." + kind + ".tokens_per_second",
       .unit = "tokens/s",
       .method = "scaling.training." + kind + "/1",
       .summary = fmt::format("Training steps of all ranks together, compared with one alone ({} scaling).", kind),
       .scope = Scope::ranks,
       .priority = 3,
       .quick = false,
       .setup_seconds = 3,
       .also = {{"scaling.training." + kind + ".efficiency", "1"}},
       .cases = cases_of,
       .prepare = [strong](Setting& setting) { return prepare_scaling(setting, strong); }});
}

const bool declared = declare_step() && declare_scaling(false) && declare_scaling(true);

}  // namespace
}  // namespace claimcheck::bench

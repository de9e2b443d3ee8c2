// A training step: a transformer, forward, backward and AdamW, data-parallel over all ranks; and how its speed scales.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/participants.h"
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

// Called by all processes at once, without a run by one that has no part in it.
void verify_together(kernels::World& world, TrainingRun* run) {
  if (run != nullptr) run->verify();
  TrainingRun::compare(world.gather(run != nullptr ? run->digest() : ""), world);
}

Prepared prepare_step(Setting& setting) {
  const TransformerShape shape = fitted(setting, preset_of(setting.chosen).shape, limit_of_rank(setting));
  const auto run = std::make_shared<TrainingRun>(setting, setting.platform.ranks(), shape, group_of(setting));
  Prepared prepared;
  prepared.verify = [run, &world = setting.world] { verify_together(world, run.get()); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
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

// Of the model that is quickest, 2, 4, ... ranks and whole nodes; of all models, all ranks.
std::vector<Case> scaling_cases(kernels::Platform& platform, const Options& options) {
  const std::vector<std::int64_t> counts = rank_counts(platform, options, 2);
  if (counts.empty()) throw kernels::unsupported("there is one rank only, nothing to compare it with");
  std::vector<Case> result;
  for (const Case& model : cases_of(platform, options))
    for (const std::int64_t ranks : counts) {
      const bool all = ranks == counts.back();
      if (!all && !result.empty() && result.front().value != model.value) continue;
      result.push_back(model);
      result.back().variant = std::to_string(ranks);
      if (!all) result.back().label += fmt::format("/ranks:{}", ranks);
    }
  return result;
}

// The batch of one rank alone, and of each of several: the same (weak), or shared out among them (strong).
std::pair<TransformerShape, TransformerShape> shapes(Setting& setting, std::int64_t ranks, bool strong) {
  TransformerShape shape = preset_of(setting.chosen).shape;
  if (strong) shape.batch = std::max(shape.batch, ranks);
  TransformerShape alone = fitted(setting, shape, limit_of_rank(setting) / 2);
  if (strong) alone.batch -= alone.batch % ranks;
  if (alone.batch == 0)
    throw kernels::unsupported(
        fmt::format("{} sequences, one for each rank, do not fit into one rank's memory", ranks));
  TransformerShape shared = alone;
  if (strong) shared.batch /= ranks;
  return {alone, shared};
}

// The first rank alone and several together, in turn; a process whose ranks have no part in either waits.
struct Compared {
  Participants participants;
  std::unique_ptr<TrainingRun> single;    // in the first process only
  std::unique_ptr<TrainingRun> together;  // where a rank takes part
  std::vector<double> seconds;            // of each rank here, in all

  TrainingRun::Step step() {
    const TrainingRun::Step taken = together->step();
    for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] += taken.device_seconds[i];
    return taken;
  }
};

std::shared_ptr<Compared> compared(Setting& setting, std::int64_t ranks, bool strong) {
  const auto [alone, shared] = shapes(setting, ranks, strong);
  const auto made = std::make_shared<Compared>();
  made->participants = first_ranks(setting, static_cast<std::size_t>(ranks));
  const std::span<kernels::Device* const> here = made->participants.here;
  const bool all = ranks == rank_counts(setting.platform, setting.options).back();
  const std::shared_ptr<kernels::Group> group =
      all ? group_of(setting) : std::shared_ptr<kernels::Group>(setting.platform.make_group(here, setting.world));
  made->seconds.resize(here.size(), 0.0);
  if (setting.world.process() == 0)
    made->single = std::make_unique<TrainingRun>(setting, here.first(1), alone, nullptr);
  if (!here.empty()) made->together = std::make_unique<TrainingRun>(setting, here, shared, group);
  return made;
}

Prepared prepare_scaling(Setting& setting, bool strong) {
  const auto ranks = static_cast<std::int64_t>(std::stoll(setting.chosen.variant));
  const std::shared_ptr<Compared> runs = compared(setting, ranks, strong);
  kernels::World& world = setting.world;
  Prepared prepared;
  prepared.verify = [runs, &world] { verify_together(world, runs->together.get()); };
  prepared.spoil = [runs] {
    if (runs->together) runs->together->spoil();
  };
  if (runs->together) {
    prepared.devices = runs->together->devices();
    prepared.conditions = runs->together->conditions();
    prepared.work = static_cast<double>(ranks * runs->together->shape().tokens());
  }
  runs->participants.describe(prepared.conditions);
  prepared.conditions["scaling"] = strong ? "strong" : "weak";
  if (runs->single) prepared.conditions["batch_alone"] = runs->single->shape().batch;
  const std::string efficiency = fmt::format("scaling.training.{}.efficiency", strong ? "strong" : "weak");
  prepared.run = [runs, efficiency, ranks, strong, &world] {
    const double before = world.max(runs->single ? runs->single->step().seconds : 0);
    Iteration iteration;
    iteration.idle = !runs->together;
    if (runs->together) iteration.seconds = runs->step().seconds;
    const double seconds = world.max(iteration.seconds);
    iteration.busy_seconds = before + seconds;
    if (iteration.idle) iteration.host_seconds = iteration.busy_seconds;  // it has no clocks to compare
    iteration.also = {{efficiency, before / seconds / (strong ? static_cast<double>(ranks) : 1)}};
    return iteration;
  };
  prepared.evidence = [runs, &world] {
    nlohmann::json evidence = runs->together ? runs->together->evidence() : nlohmann::json::object();
    evidence.update(slowest_rank(world, runs->participants, runs->seconds));
    return evidence;
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
       .summary = fmt::format("Training steps of several ranks together, compared with one alone ({} scaling).", kind),
       .scope = Scope::ranks,
       .priority = 3,
       .quick = false,
       .setup_seconds = 3,
       .also = {{"scaling.training." + kind + ".efficiency", "1"}},
       .cases = scaling_cases,
       .prepare = [strong](Setting& setting) { return prepare_scaling(setting, strong); }});
}

const bool declared = declare_step() && declare_scaling(false) && declare_scaling(true);

}  // namespace
}  // namespace claimcheck::bench

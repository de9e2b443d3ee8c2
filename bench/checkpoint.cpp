// Checkpoints of a model's states: from the devices' memory to files and back, as a training program saves and restores
// them. The sizes are those of known models, or what fits.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/checkpoint_run.h"
#include "bench/lanes.h"

namespace claimcheck::bench {
namespace {

// Of each parameter: itself in bf16, its fp32 master copy, and both moments of AdamW in fp32.
constexpr std::size_t bytes_a_parameter = 2 + 4 + 4 + 4;
constexpr std::size_t trial_bytes = std::size_t{128} << 20;

struct Preset {
  const char* label;
  std::size_t parameters;
  std::size_t bytes() const { return parameters * bytes_a_parameter; }
};

// 7b_block has the parameters of the training step's preset of that name: two layers of LLaMA 7B, width 4096, each of
// four square projections, three to and from 11008 and two norms; embedding and head of 32000 words; a last norm.
constexpr std::array<Preset, 3> presets = {
    {{"125m", 125'000'000},
     {"1.3b", 1'300'000'000},
     {"7b_block", std::size_t{2} * 4096 * (4 * 4096 + 3 * 11008 + 2 + 32000) + 4096}}};

// Where and how: a benchmark of its own each, as each can be impossible for its own reason.
struct Kind {
  bool saves = true;
  bool given_directory = false;  // --checkpoint-dir, else --scratch
  Way way = Way::pinned_host;

  std::string id() const {
    return fmt::format("checkpoint.{}{}{}", saves ? "save" : "restore", given_directory ? "/dir" : "",
                       way == Way::direct ? "/gds" : "");
  }
  CheckpointPlace place(const Options& options) const {
    return given_directory ? look_at(options.checkpoint_directory, "--checkpoint-dir")
                           : look_at(options.scratch_directory, "--scratch");
  }
};

// Longest that saving or restoring may take, unless the user chose a size.
double allowed_seconds(const Options& options) { return std::clamp(4 * options.min_time_seconds, 0.5, 2.0); }

std::size_t rounded_down(std::size_t bytes) { return bytes / Blocks::granule * Blocks::granule; }

std::size_t rounded_up(std::size_t bytes) { return rounded_down(bytes + Blocks::granule - 1); }

void limit(CheckpointPlan& plan, std::size_t bytes, const char* reason) {
  bytes = std::max(Blocks::granule, rounded_down(bytes));
  if (bytes >= plan.bytes_a_device) return;
  plan.bytes_a_device = bytes;
  plan.limited_by = reason;
}

CheckpointPlan plan_of(Setting& setting, const Kind& kind) {
  const std::span<kernels::Device* const> devices = setting.platform.devices();
  const bool alone = setting.chosen.variant == "each";
  const std::size_t sharing =
      alone ? 1 : devices.size() * static_cast<std::size_t>(std::max(1, setting.world.processes()));
  CheckpointPlan plan{.place = kind.place(setting.options), .way = kind.way, .at_once = !alone};
  plan.preset_bytes = presets.at(static_cast<std::size_t>(setting.chosen.value)).bytes();
  plan.bytes_a_device = rounded_up(plan.preset_bytes / sharing);
  for (const kernels::Device* device : devices) {
    limit(plan, memory_limit(*device, 1, 0), "the free memory of the device");
    if (setting.options.max_bytes != 0) limit(plan, setting.options.max_bytes, "--max-bytes");
  }
  // The files of all devices are there at the same time, and the disk is left half of what it has.
  limit(plan, plan.place.free_bytes / 2 / devices.size(), "the free space of the disk");
  if (setting.options.file_bytes != 0) limit(plan, setting.options.file_bytes, "--file-bytes");
  return plan;
}

// All processes save as much as the one that can save the least.
void agree(CheckpointPlan& plan, kernels::World& world) {
  const auto least = static_cast<std::size_t>(-world.max(-static_cast<double>(plan.bytes_a_device)));
  if (least < plan.bytes_a_device) limit(plan, least, "what another process can save");
}

// Of the size asked for; else as much as a trial says can be saved and restored in the time allowed.
std::shared_ptr<CheckpointRun> make_run(Setting& setting, const Kind& kind) {
  CheckpointPlan plan = plan_of(setting, kind);
  agree(plan, setting.world);
  const auto made = [&](const CheckpointPlan& chosen) {
    auto run = std::make_shared<CheckpointRun>(setting, chosen);
    run->save();
    return run;
  };
  if (setting.options.file_bytes != 0) return made(plan);
  CheckpointPlan trial = plan;
  limit(trial, trial_bytes, "the time allowed for one; --file-bytes allows more");
  std::shared_ptr<CheckpointRun> run = made(trial);
  if (trial.bytes_a_device == plan.bytes_a_device) return run;
  // The second save: the first one also pays for what is used for the first time.
  const double seconds = setting.world.max(std::max(run->save().whole_seconds(), run->restore().whole_seconds()));
  const double reached = static_cast<double>(trial.bytes_a_device) * allowed_seconds(setting.options) / seconds;
  if (reached < static_cast<double>(plan.bytes_a_device))
    limit(plan, static_cast<std::size_t>(reached), trial.limited_by.c_str());
  if (plan.bytes_a_device <= trial.bytes_a_device) return run;
  run.reset();  // its space may be needed
  return made(plan);
}

Prepared prepare(Setting& setting, const Kind& kind) {
  const std::shared_ptr<CheckpointRun> run = make_run(setting, kind);
  const Preset& preset = presets.at(static_cast<std::size_t>(setting.chosen.value));
  const auto bytes = static_cast<double>(run->checkpoint_bytes());
  const auto whole = static_cast<double>(preset.bytes());
  const std::string seconds = fmt::format("checkpoint.{}.seconds", kind.saves ? "save" : "restore");
  Prepared prepared;
  prepared.work = bytes;
  prepared.run = [run, saves = kind.saves, seconds, scale = whole / bytes] {
    Iteration iteration = saves ? run->save() : run->restore();
    iteration.also = {{seconds, iteration.seconds * scale}};
    return iteration;
  };
  prepared.verify = [run, saves = kind.saves] { saves ? run->verify_files() : run->verify_memory(); };
  prepared.spoil = [run, saves = kind.saves] { saves ? run->spoil_files() : run->spoil_memory(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.conditions["preset"] = preset.label;
  prepared.conditions["clock"] = "host, from the first copy until all is on the disk and has its name";
  if (!kind.saves) prepared.conditions["clock"] = "host, from the first read until all is in the devices' memory";
  prepared.also_conditions[seconds] = {{"bytes", preset.bytes()},
                                       {"measured_bytes", run->checkpoint_bytes()},
                                       {"scaled", !prepared.conditions["limited_by"].is_null()}};
  prepared.evidence = [run] { return run->evidence(); };
  prepared.warm_up = false;
  return prepared;
}

void require_direct_files(kernels::Platform& platform, const CheckpointPlace& place) {
  for (kernels::Device* device : platform.devices()) {
    const PublishedFile file(place, Blocks::granule, PublishedFile::Naming::early);
    const std::unique_ptr<kernels::Buffer> memory = device->allocate(Blocks::granule);
    const std::unique_ptr<kernels::DirectFile> direct = device->open_direct_file(file.descriptor(), *memory);
    direct->write(0, *memory);
  }
}

std::vector<Case> cases(kernels::Platform& platform, const Options& options, const Kind& kind) {
  if (kind.given_directory && options.checkpoint_directory.empty()) return {};
  const CheckpointPlace place = kind.place(options);
  require_direct_access(place);
  if (kind.way == Way::direct) require_direct_files(platform, place);
  const std::size_t count = platform.devices().size();
  std::vector<Case> result;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    for (const bool alone : {false, true}) {
      if (alone && (count == 1 || kind.way == Way::direct)) continue;
      // Until a disk was tried: 1 GB/s, and what make_run() allows.
      double bytes = static_cast<double>(presets.at(i).bytes());
      if (options.file_bytes != 0) bytes = std::min(bytes, static_cast<double>(options.file_bytes * count));
      double seconds = bytes / 1e9;
      if (options.file_bytes == 0) seconds = std::min(seconds, allowed_seconds(options));
      result.push_back({.label = fmt::format("{}{}", presets.at(i).label, alone ? "/each" : ""),
                        .value = static_cast<std::int64_t>(i),
                        .variant = alone ? "each" : "",
                        .quick = i == 0 && !alone,
                        .setup_seconds = 0.5 + 5 * seconds,
                        .iteration_seconds = seconds});
    }
  }
  return result;
}

bool declare(const Kind& kind) {
  const std::string verb = kind.saves ? "save" : "restore";
  return add(
      {.id = kind.id(),
       .metric = fmt::format("checkpoint.{}.gbps", verb),
       .unit = "GB/s",
       .method = fmt::format("checkpoint.{}/1", verb),
       .summary = fmt::format(
           "{} a model's states {}{}.", kind.saves ? "Saving" : "Restoring",
           kind.way == Way::direct ? "without the host's memory in between" : "by way of pinned host memory",
           kind.given_directory ? ", in the directory given by --checkpoint-dir" : ""),
       .priority = kind.way == Way::direct ? 3 : 2,
       .also = {{fmt::format("checkpoint.{}.seconds", verb), "s"}},
       .cases = [kind](kernels::Platform& platform, const Options& options) { return cases(platform, options, kind); },
       .prepare = [kind](Setting& setting) { return prepare(setting, kind); }});
}

bool declare_all() {
  for (const bool saves : {true, false})
    for (const bool given : {false, true})
      for (const Way way : {Way::pinned_host, Way::direct}) declare({saves, given, way});
  return true;
}

const bool declared = declare_all();

}  // namespace
}  // namespace claimcheck::bench

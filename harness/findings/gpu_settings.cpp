// How GPUs are set up and shared: limits, clocks, modes, slices, other users.
#include <fmt/format.h>

#include <algorithm>

#include "harness/findings/machine.h"
#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double same_limit = 0.99;  // of the default
constexpr double same_clock = 0.95;  // of the highest
constexpr double gib = 1024.0 * 1024.0 * 1024.0;
// CUDA's own context takes about half a GiB, on the largest GPUs a little more.
constexpr double own_context_bytes = 2 * gib;
constexpr double own_context_share = 0.25;  // of a small memory

std::optional<Hit> low_power_limit(const GpuView& gpu) {
  const auto limit = number_at(gpu.facts, "/power_limit_w");
  const auto usual = number_at(gpu.facts, "/power_limit_default_w");
  if (!limit || !usual || *limit >= same_limit * *usual) return std::nullopt;
  return Hit{nullptr,
             fmt::format("{:.0f} W in place of {:.0f} W", *limit, *usual),
             {{"power_limit_w", *limit}, {"power_limit_default_w", *usual}}};
}

// The setting says so, or the clock under load does: a GPU that names application clocks as the only thing that holds
// it below its highest clock. Of a power cap nothing else can be told.
std::optional<Hit> low_clocks(const GpuView& gpu) {
  const auto set = number_at(gpu.facts, "/application_clock_mhz");
  const auto usual = number_at(gpu.facts, "/application_clock_default_mhz");
  if (set && usual && *set < *usual)
    return Hit{nullptr,
               fmt::format("application clock {:.0f} MHz, its default is {:.0f} MHz", *set, *usual),
               {{"application_clock_mhz", *set}, {"application_clock_default_mhz", *usual}}};
  const auto most = number_at(gpu.facts, "/max_sm_clock_mhz");
  if (!most) return std::nullopt;
  for (const Sensed& seen : gpu.seen) {
    const auto clock = number_at(seen.sensors, "/sm_clock_highest_mhz");
    const bool held = text_at(seen.sensors, "throttle_reasons") == "application_clocks";
    if (!clock || !held || *clock >= same_clock * *most) continue;
    return Hit{nullptr,
               fmt::format("never above {:.0f} of {:.0f} MHz in {}", *clock, *most, seen.measurement->id),
               {{"sm_clock_highest_mhz", *clock}, {"max_sm_clock_mhz", *most}, {"measurement", seen.measurement->id}}};
  }
  return std::nullopt;
}

std::optional<Hit> persistence_off(const GpuView& gpu) {
  const auto mode = gpu.facts.find("persistence_mode");
  if (mode == gpu.facts.end() || !mode->is_boolean() || mode->get<bool>()) return std::nullopt;
  return Hit{nullptr, {}, {{"persistence_mode", false}}};
}

std::optional<Hit> slice(const GpuView& gpu) {
  const bool mig = flag_at(gpu.facts, "mig_instance");
  if (!mig && text_at(gpu.facts, "virtualization") != "vgpu") return std::nullopt;
  Hit hit{nullptr, mig ? "a MIG instance" : "a vGPU", {{"kind", mig ? "mig" : "vgpu"}}};
  const auto units = number_at(gpu.facts, "/mig_multiprocessors");
  if (units) {
    hit.detail += fmt::format(" of {:.0f} multiprocessors", *units);
    hit.evidence["multiprocessors"] = *units;
  }
  return hit;
}

// Processes that NVML names, else memory that is gone before this program has taken any.
std::optional<Hit> used_by_others(const GpuView& gpu) {
  const double others = number_at(gpu.facts, "/other_processes").value_or(0);
  const auto all = number_at(gpu.entry, "/memory_bytes");
  const auto free = number_at(gpu.entry, "/free_memory_bytes");
  const double used = all && free ? *all - *free : 0;
  const bool much = all && used > std::min(own_context_bytes, own_context_share * *all);
  if (!(others > 0) && !much) return std::nullopt;
  std::string detail = others > 0 ? fmt::format("{:.0f} other process{}", others, others == 1 ? "" : "es") : "";
  if (much)
    detail +=
        fmt::format("{}{:.1f} of {:.1f} GiB taken before the run", detail.empty() ? "" : ", ", used / gib, *all / gib);
  return Hit{nullptr, detail, {{"other_processes", others}, {"memory_used_bytes", used}}};
}

std::optional<Hit> far_from_cpus(const GpuView& gpu) {
  const auto near = number_at(gpu.facts, "/near_cpus");
  const auto usable = number_at(gpu.facts, "/near_cpus_usable");
  if (!near || !usable || !(*near > 0) || *usable > 0) return std::nullopt;
  const auto node = number_at(gpu.facts, "/numa_node");
  return Hit{nullptr,
             fmt::format("none of the {:.0f} CPUs of its NUMA node{} may be used by this process", *near,
                         node ? fmt::format(" {:.0f}", *node) : ""),
             {{"near_cpus", *near}, {"near_cpus_usable", *usable}}};
}

}  // namespace

std::vector<Finding> setting_findings(const std::vector<GpuView>& gpus) {
  std::vector<Finding> findings;
  const auto look = [&](const char* kind, const std::string& lead, const Rule& rule) {
    if (auto finding = finding_about(gpus, kind, lead, rule)) findings.push_back(std::move(*finding));
  };
  look("gpu.in_use", "Somebody else uses this GPU", used_by_others);
  look("gpu.slice", "Not a whole GPU", slice);
  look("gpu.power_limit", "The power limit is below its default", low_power_limit);
  look("gpu.clocks_low", "Clocks are set lower than this GPU can go", low_clocks);
  look("gpu.numa_far", "The CPUs of this run are far from the GPU", far_from_cpus);
  look("gpu.persistence_off", "Persistence mode is off", persistence_off);
  return findings;
}

}  // namespace claimcheck

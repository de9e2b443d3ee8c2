// GPUs that are sick or held back by their surroundings: heat, power, bad memory, wrong results.
#include <fmt/format.h>

#include <array>

#include "harness/findings/machine.h"
#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Faults whatever the load. A power cap (sw_power_cap) is none: every large GPU shows it in matrix products.
constexpr std::array throttle_faults_named = {"hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake",
                                              "hw_slowdown"};
// hw_slowdown shows for a moment when clocks change (nvml.h): less than this share of the samples says nothing.
constexpr double least_share = 0.05;

std::string faults_in(const json& sensors) {
  std::string names;
  for (const char* name : throttle_faults_named)
    if (has_word(sensors, "throttle_reasons", name)) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// The share of the samples of a measurement with such a fault; 0 where there is none or nothing is known.
double share_in_slowdown(const json& sensors) {
  if (faults_in(sensors).empty()) return 0;
  const auto slowed = number_at(sensors, "/samples_in_slowdown");
  const auto samples = number_at(sensors, "/samples");
  return slowed && samples && *samples > 0 ? *slowed / *samples : 1;
}

std::optional<Hit> throttled(const GpuView& gpu) {
  const Sensed* worst = nullptr;
  for (const Sensed& seen : gpu.seen)
    if (worst == nullptr || share_in_slowdown(seen.sensors) > share_in_slowdown(worst->sensors)) worst = &seen;
  if (worst == nullptr || share_in_slowdown(worst->sensors) < least_share) return std::nullopt;
  const double share = share_in_slowdown(worst->sensors);
  const auto hottest = number_at(worst->sensors, "/temperature_highest_c");
  Hit hit;
  hit.detail = fmt::format("{} in {:.0f} % of the time of {}{}", faults_in(worst->sensors), share * 100,
                           worst->measurement->id, hottest ? fmt::format(", up to {:.0f} C", *hottest) : "");
  hit.evidence = {{"reasons", faults_in(worst->sensors)}, {"measurement", worst->measurement->id}, {"share", share}};
  if (hottest) hit.evidence["temperature_highest_c"] = *hottest;
  return hit;
}

std::optional<Hit> uncorrectable(const GpuView& gpu) {
  double fresh = 0;
  for (const Sensed& seen : gpu.seen) fresh += number_at(seen.sensors, "/ecc_uncorrected_new").value_or(0);
  const double loaded = number_at(gpu.facts, "/ecc_uncorrected").value_or(0);
  const double lifetime = number_at(gpu.facts, "/ecc_uncorrected_lifetime").value_or(0);
  if (!(fresh > 0) && !(loaded > 0) && !(lifetime > 0)) return std::nullopt;
  Hit hit;
  hit.detail = fmt::format("{:.0f} while it was measured, {:.0f} since the driver was loaded, {:.0f} in its life",
                           fresh, loaded, lifetime);
  hit.evidence = {{"new", fresh}, {"since_driver_load", loaded}, {"lifetime", lifetime}};
  return hit;
}

std::optional<Hit> bad_memory(const GpuView& gpu) {
  std::string detail;
  json evidence = json::object();
  const auto note = [&](bool is, const char* name, const std::string& text) {
    if (!is) return;
    detail += (detail.empty() ? "" : ", ") + text;
    evidence[name] = gpu.facts[name];
  };
  note(flag_at(gpu.facts, "row_remap_failed"), "row_remap_failed", "a bad row could not be replaced");
  note(flag_at(gpu.facts, "row_remap_pending"), "row_remap_pending", "a bad row is replaced at the next reset only");
  note(flag_at(gpu.facts, "retired_pages_pending"), "retired_pages_pending",
       "a bad page is retired at the next reset only");
  const double rows = number_at(gpu.facts, "/row_remaps_uncorrectable").value_or(0);
  note(rows > 0, "row_remaps_uncorrectable", fmt::format("{:.0f} rows replaced after uncorrectable errors", rows));
  if (detail.empty()) return std::nullopt;
  return Hit{nullptr, detail, evidence};
}

// Of every device at once, since a soak names more than one where more than one was wrong.
std::optional<Hit> corrupt(const GpuView& gpu) {
  Hit hit;
  json found = json::array();
  for (const Sensed& seen : gpu.seen)
    for (const json& one : seen.measurement->evidence.value("corruption", json::array())) {
      if (number_at(one, "/device") != gpu.index) continue;
      if (found.empty())
        hit.detail =
            fmt::format("{} of 8 bytes in a {} of {}, {:.0f} s after it began",
                        number_at(one, "/words").value_or(0) == 1 ? "a word" : "words", text_at(one, "operation"),
                        seen.measurement->id, number_at(one, "/seconds").value_or(0));
      found.push_back(one);
    }
  if (found.empty()) return std::nullopt;
  hit.evidence = {{"corruption", found}};
  return hit;
}

// ECC lies in the memory itself there: it takes capacity and bandwidth. HBM has bits of its own for it.
std::optional<Hit> costly_ecc(const GpuView& gpu, const Catalog& catalog) {
  if (!flag_at(gpu.facts, "ecc_enabled")) return std::nullopt;
  const Accelerator* accelerator = catalog.find_accelerator(gpu.model);
  const std::string memory = accelerator == nullptr ? std::string() : text_at(accelerator->record, "memory_type");
  if (!memory.starts_with("GDDR")) return std::nullopt;
  return Hit{nullptr, memory, {{"memory_type", memory}, {"ecc_enabled", true}}};
}

}  // namespace

std::vector<Finding> health_findings(const std::vector<GpuView>& gpus, const Catalog& catalog) {
  std::vector<Finding> findings;
  const auto look = [&](const char* kind, const std::string& lead, const Rule& rule) {
    if (auto finding = finding_about(gpus, kind, lead, rule)) findings.push_back(std::move(*finding));
  };
  look("gpu.corrupt", "The same work gave other bits than before", corrupt);
  look("gpu.ecc_errors", "Memory errors that could not be corrected", uncorrectable);
  look("gpu.bad_memory", "Memory that was found to be bad", bad_memory);
  look("gpu.throttled", "Slowed down by heat or hardware while it was measured", throttled);
  look("gpu.ecc_gddr", "Error correction is kept in the memory itself and costs bandwidth",
       [&](const GpuView& gpu) { return costly_ecc(gpu, catalog); });
  return findings;
}

}  // namespace claimcheck

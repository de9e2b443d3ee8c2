#include "harness/judge/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/judge/diagnosis_gpu.h"
#include "harness/judge/findings.h"
#include "harness/judge/headline.h"
#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double much_steal = 0.01;   // of the CPU time while it was measured
constexpr double wide_spread = 0.05;  // coefficient of variation over repetitions
constexpr double slow_device = 0.05;  // below the median of the devices

std::string advice(const std::string& why, const std::string& next) { return why + " -> " + next; }

// The largest number under `name` in the evidence: its own, or that of one of several devices.
std::optional<double> evidence_number(const json& evidence, const std::string& name) {
  std::optional<double> largest = number_at(evidence, "/" + name);
  const auto devices = evidence.find("devices");
  if (devices == evidence.end() || !devices->is_array()) return largest;
  for (const json& device : *devices) {
    const auto number = number_at(device, "/" + name);
    if (number && (!largest || *number > *largest)) largest = number;
  }
  return largest;
}

void slow_one(const Measurement& measurement, std::vector<std::string>& found) {
  std::vector<double> values;
  for (const DeviceValue& device : measurement.devices) {
    if (device.value) values.push_back(*device.value);
  }
  if (values.size() < 2) return;
  std::sort(values.begin(), values.end());
  const double typical = values[values.size() / 2];
  for (const DeviceValue& device : measurement.devices) {
    if (!device.value || *device.value >= typical * (1 - slow_device)) continue;
    found.push_back(advice(
        fmt::format("Device {} is slow: {} while the others reach {}.", device.index,
                    quantity_text(*device.value, measurement.unit), quantity_text(typical, measurement.unit)),
        "Look at its clock, power limit and temperature; ask the provider to replace it or return the machine."));
  }
}

// Links that the figure could be of: "PCIe 3.0 x16 or 4.0 x8". Of the line rate, packets leave copies 0.72 to 0.95
// nearly everywhere in catalog/expected (26.3 of 31.5, 57.3 of 63.0 GB/s; lowest 11.1 of 15.75).
std::string pcie_class(double gbps) {
  std::string text;
  for (const double generation : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0})
    for (const double lanes : {8.0, 16.0}) {
      const double share = gbps / pcie_gbps(generation, lanes);
      if (share < 0.72 || share > 0.95) continue;
      text += fmt::format("{}{:.0f}.0 x{:.0f}", text.empty() ? "PCIe " : " or ", generation, lanes);
    }
  return text;
}

// All cards alike: not one bad card, but what the platform gives each of them.
void uniform_link(const Measurement& measurement, std::vector<std::string>& found) {
  if (!measurement.metric.starts_with("host_link.") || !measurement.value || measurement.devices.size() < 2) return;
  double least = 0, most = 0;
  for (const DeviceValue& device : measurement.devices) {
    if (!device.value) return;
    least = least == 0 ? *device.value : std::min(least, *device.value);
    most = std::max(most, *device.value);
  }
  if (!(least > 0) || most > least * (1 + slow_device)) return;
  const std::string line = pcie_class(*measurement.value);
  found.push_back(
      advice(fmt::format("All {} GPUs agree ({} to {} {}), so it is no bad card{}.", measurement.devices.size(),
                         number_text(least), number_text(most), measurement.unit,
                         line.empty() ? "" : ": it is what " + line + " carries"),
             "nvidia-smi -q -d PCIE shows generation and lanes; a platform may present fewer than the card has."));
}

void steal(const Measurement& measurement, std::vector<std::string>& found) {
  const auto share = evidence_number(measurement.evidence, "cpu_steal_share");
  if (!share || *share <= much_steal) return;
  found.push_back(advice(
      fmt::format("The hypervisor gave {} of the CPU time to others while this was measured.", percent_text(*share)),
      "Measure again at a quieter time, or ask for dedicated cores if those were sold."));
}

void cgroup(const Measurement& measurement, std::vector<std::string>& found) {
  const auto seconds = evidence_number(measurement.evidence, "control_group_throttled_seconds");
  if (!seconds || *seconds <= 0) return;
  found.push_back(
      advice(fmt::format("The container's CPU quota stopped the threads for {} s in all.", number_text(*seconds)),
             "Start the container without a CPU limit (--cpus, Kubernetes limits.cpu), or with a CPU set."));
}

void few_threads(const Document& document, const Measurement& measurement, std::vector<std::string>& found) {
  auto threads = number_at(measurement.conditions, "/threads");
  if (!threads && !measurement.devices.empty()) {
    threads = number_at(device_facts(document, measurement.devices.front().index), "/compute_units");
  }
  const auto cores = number_at(document.system, "/cpu/cores");
  if (!threads || !cores || *threads >= *cores) return;
  found.push_back(advice(fmt::format("{:.0f} of {:.0f} cores worked.", *threads, *cores),
                         "Run without --threads and outside taskset or a CPU set, so that every core works."));
}

void spread(const Measurement& measurement, std::vector<std::string>& found) {
  if (!measurement.statistics || measurement.statistics->cv <= wide_spread) return;
  const Statistics& statistics = *measurement.statistics;
  found.push_back(
      advice(fmt::format("The repetitions differ widely: {} to {} {} (variation {}).", number_text(statistics.min),
                         number_text(statistics.max), measurement.unit, percent_text(statistics.cv)),
             "Stop other work on the machine and measure again; if it stays, neighbours share it."));
}

void unsaturated(const Measurement& measurement, std::vector<std::string>& found) {
  const json saturated = condition_of(measurement, "saturated");
  if (!saturated.is_boolean() || saturated.get<bool>()) return;
  found.push_back(advice("The rate still rises with the size, so this is a lower bound.",
                         "Measure larger sizes (--profile standard, or without --max-bytes)."));
}

bool about_cpu_or_memory(const std::string& id) {
  return id.starts_with("cpu.") || id.starts_with("memory.") || id == "swap" || id.starts_with("shm.");
}

// What the probe found wrong with the machine already.
void findings(const Document& document, bool host, std::vector<std::string>& found) {
  for (const Finding& finding : document.findings) {
    if (finding.severity == "info" && !finding.id.starts_with("cpu.")) continue;
    if (is_measured_finding(finding)) continue;  // of an earlier judging: the evidence above says it of this number
    const bool fits = host ? about_cpu_or_memory(finding.id) : !about_cpu_or_memory(finding.id);
    if (!fits) continue;
    found.push_back(finding.next_step.empty() ? finding.text : advice(finding.text, finding.next_step));
  }
}

}  // namespace

std::vector<std::string> diagnose(const Document& document, const Measurement& measurement) {
  std::vector<std::string> found;
  const bool host = measured_on_host(document, measurement);
  slow_one(measurement, found);
  uniform_link(measurement, found);
  if (!host) gpu_reasons(document, measurement, found);
  cgroup(measurement, found);
  steal(measurement, found);
  if (host) few_threads(document, measurement, found);
  spread(measurement, found);
  unsaturated(measurement, found);
  findings(document, host, found);
  return found;
}

}  // namespace claimcheck

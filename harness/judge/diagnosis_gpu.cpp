#include "harness/judge/diagnosis_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double same_clock = 0.95;        // of the median of the devices
constexpr double shares_an_uplink = 0.75;  // all at once, of each alone

std::string advice(const std::string& why, const std::string& next) { return why + " -> " + next; }

// One GPU of a measurement: what it is, and what its sensors saw meanwhile.
struct Gpu {
  int index = 0;
  json facts;
  json sensors;
};

std::vector<Gpu> gpus_of(const Document& document, const Measurement& measurement) {
  const json several = measurement.evidence.value("devices", json());
  std::vector<Gpu> gpus;
  for (std::size_t i = 0; i < measurement.devices.size(); ++i) {
    const int index = measurement.devices[i].index;
    json sensors = several.is_array() && i < several.size() ? several[i] : json(nullptr);
    if (measurement.devices.size() == 1) sensors = measurement.evidence;
    gpus.push_back({index, device_facts(document, index), sensors.is_object() ? sensors : json::object()});
  }
  return gpus;
}

// Names joined by commas, or a list of them.
bool names_reason(const json& sensors, std::string_view reason) {
  const json reasons = sensors.value("throttle_reasons", json());
  if (reasons.is_array())
    return std::any_of(reasons.begin(), reasons.end(), [&](const json& one) { return one == reason; });
  if (!reasons.is_string()) return false;
  const std::string text = "," + reasons.get<std::string>() + ",";
  return text.find(fmt::format(",{},", reason)) != std::string::npos;
}

std::string at_temperature(const json& sensors) {
  const auto celsius = number_at(sensors, "/temperature_highest_c");
  return celsius ? fmt::format(", {:.0f} C", *celsius) : std::string();
}

// Slowdowns that no healthy GPU has. A power cap is none: every large GPU shows it under full load.
void slowdown(const Gpu& gpu, std::vector<std::string>& found) {
  if (names_reason(gpu.sensors, "hw_thermal_slowdown") || names_reason(gpu.sensors, "sw_thermal_slowdown"))
    found.push_back(advice(fmt::format("GPU {} was slowed down by heat{}.", gpu.index, at_temperature(gpu.sensors)),
                           "Ask the provider about its cooling, or return the machine."));
  if (names_reason(gpu.sensors, "hw_power_brake"))
    found.push_back(advice(fmt::format("The machine's power supply braked GPU {} (hw_power_brake).", gpu.index),
                           "Ask the provider: power supplies of the host are missing or overloaded."));
  else if (names_reason(gpu.sensors, "hw_slowdown") && !names_reason(gpu.sensors, "hw_thermal_slowdown"))
    found.push_back(
        advice(fmt::format("GPU {} was slowed down by its hardware (hw_slowdown).", gpu.index),
               fmt::format("nvidia-smi -i {} -q -d PERFORMANCE; return the machine if it stays.", gpu.index)));
}

void power_limit(const Gpu& gpu, std::vector<std::string>& found) {
  const auto limit = number_at(gpu.facts, "/power_limit_w");
  const auto usual = number_at(gpu.facts, "/power_limit_default_w");
  if (!limit || !usual || *limit >= 0.99 * *usual) return;
  found.push_back(
      advice(fmt::format("GPU {} has a power limit of {:.0f} W; its default is {:.0f} W.", gpu.index, *limit, *usual),
             fmt::format("nvidia-smi -i {} -q -d POWER; ask the provider to reset the limit.", gpu.index)));
}

// Of all GPUs whose clock was low, or of one of them.
void clocks(const std::vector<Gpu>& gpus, std::optional<int> only, std::vector<std::string>& found) {
  std::vector<double> sorted;
  for (const Gpu& gpu : gpus)
    if (const auto clock = number_at(gpu.sensors, "/sm_clock_mhz")) sorted.push_back(*clock);
  if (sorted.size() < 2) return;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  for (const Gpu& gpu : gpus) {
    const auto clock = number_at(gpu.sensors, "/sm_clock_mhz");
    if (!clock || *clock >= same_clock * usual || (only && gpu.index != *only)) continue;
    const auto power = number_at(gpu.sensors, "/power_w");
    found.push_back(advice(
        fmt::format("GPU {} ran at {:.0f} MHz while the others held {:.0f} MHz{}{}.", gpu.index, *clock, usual,
                    power ? fmt::format(", at {:.0f} W", *power) : std::string(), at_temperature(gpu.sensors)),
        fmt::format("nvidia-smi -i {} -q -d CLOCK,POWER,TEMPERATURE; ask the provider to replace it.", gpu.index)));
  }
}

void memory_health(const Gpu& gpu, std::vector<std::string>& found) {
  const auto errors = number_at(gpu.sensors, "/ecc_uncorrected_new");
  if (errors && *errors > 0)
    found.push_back(
        advice(fmt::format("GPU {} had {:.0f} memory errors that could not be corrected.", gpu.index, *errors),
               "Do not use it; return the machine."));
  if (flag_at(gpu.facts, "row_remap_failed"))
    found.push_back(advice(fmt::format("GPU {} could not remap a bad row of its memory.", gpu.index),
                           "Return the machine: this GPU is to be replaced."));
  else if (flag_at(gpu.facts, "row_remap_pending") || flag_at(gpu.facts, "retired_pages_pending"))
    found.push_back(advice(fmt::format("GPU {} has bad memory that is replaced only at its next reset.", gpu.index),
                           "Reboot the machine, or have the provider reset the GPU."));
}

void slice(const Gpu& gpu, std::vector<std::string>& found) {
  const bool mig = flag_at(gpu.facts, "mig_instance");
  if (!mig && text_at(gpu.facts, "virtualization") != "vgpu") return;
  found.push_back(advice(
      fmt::format("Device {} is a slice of a GPU ({}), not a whole one.", gpu.index, mig ? "a MIG instance" : "vGPU"),
      "Compare it with what was sold: a slice has its share of units, memory and bandwidth."));
}

void pcie(const Gpu& gpu, std::vector<std::string>& found) {
  const auto width = number_at(gpu.sensors, "/pcie_width_highest");
  const auto widest = number_at(gpu.facts, "/pcie_max_width");
  if (width && widest && *width < *widest)
    found.push_back(
        advice(fmt::format("The PCIe link of GPU {} has {:.0f} of {:.0f} lanes.", gpu.index, *width, *widest),
               "Some clouds sell it so; otherwise the card or its riser is badly seated."));
  const auto generation = number_at(gpu.sensors, "/pcie_generation");
  const auto newest = number_at(gpu.facts, "/pcie_gpu_max_generation");
  if (generation && newest && *generation < *newest)
    found.push_back(advice(fmt::format("The PCIe link of GPU {} runs as generation {:.0f}; the GPU can do {:.0f}.",
                                       gpu.index, *generation, *newest),
                           "The host offers no more, or the firmware holds the link back."));
}

// All at once against each alone, as far as both were measured.
void shared_uplink(const Document& document, const Measurement& measurement, std::vector<std::string>& found) {
  if (condition_of(measurement, "devices_at_once") != "all" || !measurement.value) return;
  const Measurement* alone = headline(document, measurement.metric, {{"devices_at_once", 1}});
  if (alone == nullptr || *measurement.value >= shares_an_uplink * *alone->value) return;
  found.push_back(advice(
      fmt::format("Devices share an uplink: alone each reaches {}, all at once {}.",
                  quantity_text(*alone->value, alone->unit), quantity_text(*measurement.value, measurement.unit)),
      "This is how the host is built; spread transfers over the switches, or over time."));
}

void nvlink(const Gpu& gpu, std::vector<std::string>& found) {
  const auto links = number_at(gpu.facts, "/nvlink_links");
  const auto active = number_at(gpu.facts, "/nvlink_links_active");
  if (links && active && *links > 0 && *active < *links)
    found.push_back(
        advice(fmt::format("{:.0f} of {:.0f} NVLinks of GPU {} are active.", *active, *links, gpu.index),
               fmt::format("nvidia-smi nvlink -i {} -s; ask the provider to look at the link.", gpu.index)));
  const std::string state = text_at(gpu.facts, "fabric_state");
  if (state == "in_progress" || state == "not_started")
    found.push_back(advice(fmt::format("GPU {} has not joined the NVLink fabric ({}).", gpu.index, state),
                           "Install and start the nvidia-fabricmanager that matches the driver."));
  if (flag_at(gpu.facts, "fabric_degraded_bandwidth"))
    found.push_back(advice(fmt::format("The NVLink fabric of GPU {} runs with degraded bandwidth.", gpu.index),
                           "Ask the provider: a switch or a link of the fabric is out of service."));
}

void access(const Measurement& measurement, std::vector<std::string>& found) {
  const json rows = measurement.evidence.value("access", json());
  const std::string text = rows.is_array() ? rows.dump() : std::string();
  if (text.find("through_host") == std::string::npos) return;
  found.push_back(advice("Copies between some GPUs go by way of the host: one does not reach the other's memory.",
                         "Without NVLink this needs ACS and the IOMMU off in the host, and a container that allows it; "
                         "many cards are sold without."));
}

void transport(const Measurement& measurement, std::vector<std::string>& found) {
  const json group = measurement.evidence.value("group", json());
  const std::string way = text_at(group, "transport");
  // "network" is what NCCL would use; only the transport says that it did.
  if (way.find("NET/Socket") != std::string::npos || text_at(group, "network_provider") == "tcp")
    found.push_back(advice("NCCL fell back to sockets between the nodes.",
                           "Install the network plugin of this cloud, and see what NCCL_DEBUG=INFO says about it."));
  if (way.find("SHM") != std::string::npos && way.find("P2P") == std::string::npos)
    found.push_back(
        advice("NCCL went through the host's memory (SHM): the GPUs do not reach each other.",
               "nvidia-smi topo -p2p r shows why; see NCCL_P2P_DISABLE, ACS and the container's settings."));
  const auto nvls = group.is_object() ? group.find("nvls") : group.end();
  if (group.is_object() && nvls != group.end() && *nvls == false && text_at(group, "algorithm") == "ring")
    found.push_back(advice("All-reduce used Ring, not NVLS: the switches did not do the sum.",
                           "Check that nvidia-fabricmanager matches the driver, and that NCCL_NVLS_ENABLE is not 0."));
}

}  // namespace

void gpu_reasons(const Document& document, const Measurement& measurement, std::vector<std::string>& found) {
  const std::vector<Gpu> gpus = gpus_of(document, measurement);
  const std::string& metric = measurement.metric;
  clocks(gpus, std::nullopt, found);
  for (const Gpu& gpu : gpus) {
    slowdown(gpu, found);
    power_limit(gpu, found);
    slice(gpu, found);
    memory_health(gpu, found);
    if (metric.starts_with("host_link.")) pcie(gpu, found);
    if (metric.starts_with("p2p.") || metric.find(".busbw.") != std::string::npos) nvlink(gpu, found);
  }
  if (metric.starts_with("host_link.")) shared_uplink(document, measurement, found);
  access(measurement, found);
  transport(measurement, found);
}

std::vector<std::string> reasons_of_gpu(const Document& document, const Measurement& measurement, int index) {
  const std::vector<Gpu> gpus = gpus_of(document, measurement);
  std::vector<std::string> found;
  clocks(gpus, index, found);
  for (const Gpu& gpu : gpus) {
    if (gpu.index != index) continue;
    slowdown(gpu, found);
    power_limit(gpu, found);
    slice(gpu, found);
    memory_health(gpu, found);
    pcie(gpu, found);
    nvlink(gpu, found);
  }
  return found;
}

}  // namespace claimcheck

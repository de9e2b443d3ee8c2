// Links of GPUs: to the host, to each other, to the NVLink fabric.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/findings/kinds.h"
#include "harness/findings/machine.h"
#include "harness/judge/headline.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double pcie3_lane_gbps = 15.75 / 16;  // after 128b/130b coding; twice that each generation
// Pinned copies of healthy machines reach 78 to 88 % of the link (catalog/expected/links.json).
constexpr double good_share = 0.70;
constexpr double shares_an_uplink = 0.75;  // both at once, of each alone

// What the GPU itself can do, by data sheet, else by what it says.
struct PcieLink {
  double generation = 0;
  double width = 0;
  double gbps() const { return pcie3_lane_gbps * std::exp2(generation - 3) * width; }
};

std::optional<PcieLink> own_link(const GpuView& gpu, const Catalog& catalog) {
  const Accelerator* accelerator = catalog.find_accelerator(gpu.model);
  const json& record = accelerator == nullptr ? json::object() : accelerator->record;
  auto generation = number_at(gpu.facts, "/pcie_gpu_max_generation");
  if (!generation) generation = number_at(record, "/pcie_gen");
  auto width = number_at(record, "/pcie_lanes");
  if (!width) width = number_at(gpu.facts, "/pcie_max_width");
  if (!generation || !width || !(*generation >= 1) || !(*width >= 1)) return std::nullopt;
  return PcieLink{*generation, *width};
}

// The link's state while it worked: an idle link rests at a low generation, and its state then says nothing.
std::string narrower(const json& sensors, const PcieLink& link) {
  std::string text;
  const auto width = number_at(sensors, "/pcie_width_highest");
  const auto generation = number_at(sensors, "/pcie_generation");
  if (width && *width < link.width) text = fmt::format("{:.0f} of {:.0f} lanes", *width, link.width);
  if (generation && *generation < link.generation)
    text += fmt::format("{}generation {:.0f} of {:.0f}", text.empty() ? "" : ", ", *generation, link.generation);
  return text;
}

bool is_plain_copy(const Measurement& measurement) {
  return (measurement.metric == "host_link.h2d.gbps" || measurement.metric == "host_link.d2h.gbps") &&
         measurement.usable() && condition_of(measurement, "engine") != "sm";
}

// Judged by what was copied in a second. Of GPUs all at work at once a shared uplink is as likely, unless the state of
// the link says otherwise.
std::optional<Hit> slow_pcie(const GpuView& gpu, const Catalog& catalog) {
  const auto link = own_link(gpu, catalog);
  if (!link) return std::nullopt;
  for (const bool alone : {true, false})
    for (const Sensed& seen : gpu.seen) {
      const Measurement& measurement = *seen.measurement;
      const bool by_itself = measurement.devices.size() == 1 || condition_of(measurement, "devices_at_once") == 1;
      if (!is_plain_copy(measurement) || by_itself != alone) continue;
      const auto device = std::find_if(measurement.devices.begin(), measurement.devices.end(),
                                       [&](const DeviceValue& one) { return one.index == gpu.index; });
      if (!device->value || *device->value >= good_share * link->gbps()) continue;
      const std::string state = narrower(seen.sensors, *link);
      if (!alone && state.empty()) continue;
      return Hit{nullptr,
                 fmt::format("{} of {} that its link carries{}", quantity_text(*device->value, "GB/s"),
                             quantity_text(link->gbps(), "GB/s"), state.empty() ? "" : " (" + state + " under load)"),
                 {{"measurement", measurement.id},
                  {"gbps", *device->value},
                  {"link_gbps", link->gbps()},
                  {"state", state.empty() ? json(nullptr) : json(state)}}};
    }
  return std::nullopt;
}

// Groups of devices (their places in the measurement) that slow each other down, by pairs.
std::vector<std::vector<std::size_t>> sharing(const json& alone, const json& pairs) {
  std::vector<std::size_t> group(alone.size());
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = i;
  for (std::size_t i = 0; i < alone.size(); ++i)
    for (std::size_t j = i + 1; j < alone.size(); ++j) {
      const auto both = number_at(pairs, fmt::format("/{}/{}", i, j));
      const auto one = number_at(alone, fmt::format("/{}", i));
      const auto other = number_at(alone, fmt::format("/{}", j));
      if (!both || !one || !other || *both >= shares_an_uplink * std::min(*one, *other)) continue;
      const std::size_t old = group[j];
      for (std::size_t& of : group)
        if (of == old) of = group[i];
    }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t first = 0; first < group.size(); ++first) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < group.size(); ++i)
      if (group[i] == first) members.push_back(i);
    if (members.size() > 1) groups.push_back(std::move(members));
  }
  return groups;
}

void shared_uplinks(const Document& document, std::vector<Finding>& findings) {
  for (const Measurement& measurement : document.measurements) {
    if (!measurement.usable() || !measurement.evidence.is_object()) continue;
    const json alone = measurement.evidence.value("alone_gbps", json());
    const json pairs = measurement.evidence.value("pairs_at_once_gbps", json());
    if (!alone.is_array() || !pairs.is_array() || alone.size() != measurement.devices.size()) continue;
    std::string text;
    json groups = json::array();
    for (const auto& members : sharing(alone, pairs)) {
      std::string names;
      json indices = json::array();
      for (std::size_t i = 0; i < members.size(); ++i) {
        const int index = measurement.devices[members[i]].index;
        names += fmt::format("{}{}", i == 0 ? "" : i + 1 == members.size() ? " and " : ", ", index);
        indices.push_back(index);
      }
      const auto both = number_at(pairs, fmt::format("/{}/{}", members[0], members[1]));
      const auto one = number_at(alone, fmt::format("/{}", members[0]));
      text += fmt::format("{}GPUs {} ({} each alone, {} two at once)", text.empty() ? "" : "; ", names,
                          quantity_text(one.value_or(0), "GB/s"), quantity_text(both.value_or(0), "GB/s"));
      groups.push_back(indices);
    }
    if (groups.empty()) continue;
    findings.push_back(finding_of_kind("link.uplink_shared", "GPUs share a link to the host: " + text + ".",
                                       {{"groups", groups}, {"alone_gbps", alone}, {"pairs_at_once_gbps", pairs}}));
    return;
  }
}

// Links that are down, or fewer than most of its peers have.
std::optional<Hit> nvlinks_down(const GpuView& gpu, const std::vector<GpuView>& gpus) {
  const auto active = number_at(gpu.facts, "/nvlink_links_active");
  if (!active) return std::nullopt;
  double most = number_at(gpu.facts, "/nvlink_links").value_or(*active);
  for (const GpuView& other : gpus)
    if (other.model == gpu.model) most = std::max(most, number_at(other.facts, "/nvlink_links_active").value_or(0));
  if (*active >= most) return std::nullopt;
  return Hit{nullptr,
             fmt::format("{:.0f} of {:.0f} links are up", *active, most),
             {{"nvlink_links_active", *active}, {"nvlink_links", most}}};
}

std::optional<Hit> outside_fabric(const GpuView& gpu) {
  const std::string state = text_at(gpu.facts, "fabric_state");
  const bool degraded = flag_at(gpu.facts, "fabric_degraded_bandwidth");
  if (state != "in_progress" && state != "not_started" && !degraded) return std::nullopt;
  return Hit{nullptr,
             degraded ? "degraded bandwidth" : "not joined (" + state + ")",
             {{"fabric_state", state}, {"fabric_degraded_bandwidth", degraded}}};
}

// The worker's row for this GPU: 1 where it reaches the other one's memory.
std::optional<Hit> no_peer_access(const Document& document, const GpuView& gpu) {
  const std::string place = fmt::format("/software/worker/gpu{}_peer_access_to", gpu.index);
  const json::json_pointer pointer(place);
  if (!document.system.contains(pointer) || !document.system.at(pointer).is_array()) return std::nullopt;
  std::string others;
  for (std::size_t to = 0; to < document.system.at(pointer).size(); ++to) {
    const auto reaches = number_at(document.system, fmt::format("{}/{}", place, to));
    if (!reaches || *reaches != 0 || static_cast<int>(to) == gpu.index) continue;
    others += fmt::format("{}{}", others.empty() ? "" : ", ", to);
  }
  if (others.empty()) return std::nullopt;
  return Hit{nullptr, "not GPU " + others, {{"cannot_reach", others}}};
}

}  // namespace

std::vector<Finding> link_findings(const Document& document, const std::vector<GpuView>& gpus, const Catalog& catalog) {
  std::vector<Finding> findings;
  const auto look = [&](const char* kind, const std::string& lead, const Rule& rule) {
    if (auto finding = finding_about(gpus, kind, lead, rule)) findings.push_back(std::move(*finding));
  };
  look("gpu.pcie_slow", "Copies to or from the host are slower than the GPU's PCIe link",
       [&](const GpuView& gpu) { return slow_pcie(gpu, catalog); });
  shared_uplinks(document, findings);
  look("gpu.nvlink_down", "NVLinks are down", [&](const GpuView& gpu) { return nvlinks_down(gpu, gpus); });
  look("gpu.fabric", "The NVLink fabric is not whole", outside_fabric);
  look("gpu.no_peer_access", "GPUs do not reach each other's memory",
       [&](const GpuView& gpu) { return no_peer_access(document, gpu); });
  return findings;
}

std::vector<Finding> machine_findings(const Document& document, const Catalog& catalog) {
  const std::vector<GpuView> gpus = gpus_of(document);
  std::vector<Finding> findings = health_findings(gpus, catalog);
  for (auto&& more : {link_findings(document, gpus, catalog), setting_findings(gpus)})
    findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

}  // namespace claimcheck

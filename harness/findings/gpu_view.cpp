#include "harness/findings/gpu_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/findings/kinds.h"
#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr std::size_t most_named = 4;  // devices in a sentence; the evidence has all

// The sensors stand in the order of the measurement's devices; those of one device by themselves.
json sensors_of(const Measurement& measurement, std::size_t place) {
  if (!measurement.evidence.is_object()) return json::object();
  if (measurement.devices.size() == 1) return measurement.evidence;
  const auto several = measurement.evidence.find("devices");
  if (several == measurement.evidence.end() || !several->is_array() || place >= several->size() ||
      !(*several)[place].is_object())
    return json::object();
  return (*several)[place];
}

}  // namespace

std::string GpuView::name() const {
  const std::string bus = text_at(facts, "pci_bus_id");
  return bus.empty() ? fmt::format("GPU {}", index) : fmt::format("GPU {} ({})", index, bus);
}

std::vector<GpuView> gpus_of(const Document& document) {
  std::vector<GpuView> gpus;
  const auto devices = document.system.find("devices");
  if (worker_kind(document) == "host" || devices == document.system.end() || !devices->is_array()) return gpus;
  for (const json& entry : *devices) {
    const auto index = number_at(entry, "/index");
    if (!index) continue;
    GpuView gpu;
    gpu.index = static_cast<int>(*index);
    gpu.model = text_at(entry, "name");
    gpu.entry = entry;
    gpu.facts = device_facts(document, gpu.index);
    for (const Measurement& measurement : document.measurements)
      for (std::size_t place = 0; place < measurement.devices.size(); ++place)
        if (measurement.devices[place].index == gpu.index)
          gpu.seen.push_back({&measurement, sensors_of(measurement, place)});
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::optional<Finding> finding_about(const std::vector<GpuView>& gpus, const char* kind, const std::string& lead,
                                     const Rule& rule) {
  std::vector<Hit> hits;
  for (const GpuView& gpu : gpus) {
    auto hit = rule(gpu);
    if (!hit) continue;
    hit->gpu = &gpu;
    hits.push_back(std::move(*hit));
  }
  if (hits.empty()) return std::nullopt;
  // The same of all is said once.
  const bool alike = hits.size() > 1 && std::all_of(hits.begin(), hits.end(),
                                                    [&](const Hit& hit) { return hit.detail == hits.front().detail; });
  std::string text = lead + ": ";
  for (std::size_t i = 0; i < std::min(most_named, hits.size()); ++i) {
    text += (i == 0 ? "" : alike ? ", " : "; ") + hits[i].gpu->name();
    if (!alike && !hits[i].detail.empty()) text += ", " + hits[i].detail;
  }
  if (hits.size() > most_named) text += fmt::format(" and {} more", hits.size() - most_named);
  if (alike && !hits.front().detail.empty()) text += "; " + hits.front().detail;
  json devices = json::array();
  for (Hit& hit : hits) {
    hit.evidence["device"] = hit.gpu->index;
    devices.push_back(std::move(hit.evidence));
  }
  return finding_of_kind(kind, text + ".", {{"devices", devices}}, hits.front().gpu->index);
}

bool has_word(const json& object, const char* key, std::string_view word) {
  const std::string text = "," + text_at(object, key) + ",";
  return text.find(fmt::format(",{},", word)) != std::string::npos;
}

}  // namespace claimcheck

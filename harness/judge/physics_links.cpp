#include "harness/judge/physics_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "harness/judge/judge.h"
#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"
#include "harness/scale/links.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Their host link is a chip-to-chip link, not PCIe.
bool is_superchip(const std::string& name) {
  constexpr std::array<std::string_view, 4> chips = {"GH200", "GB200", "GB300", "GB10"};
  return std::any_of(chips.begin(), chips.end(),
                     [&](std::string_view chip) { return name.find(chip) != std::string::npos; });
}

// The fastest of several, because a ceiling must hold for all of them.
void take_larger(std::optional<Ceiling>& best, std::optional<Ceiling> other) {
  if (other && (!best || other->value > best->value)) best = std::move(other);
}

class Links {
 public:
  Links(const Document& document, const Measurement& measurement, const Catalog& catalog)
      : document_(document), measurement_(measurement), platform_(platform_of(document, catalog)) {
    if (!measurement.devices.empty()) name_ = measurement.devices.front().name;
    if (name_.empty())
      if (const auto seen = accelerators_seen(document); seen && !seen->empty()) name_ = seen->front();
    card_ = accelerator_of_name(catalog, name_);
    if (card_ == nullptr && name_.empty() && platform_ != nullptr)
      card_ = catalog.find_accelerator(platform_->accelerator);
  }

  std::optional<Ceiling> pcie() const {
    if (text_at(measurement_.conditions, "link") == "c2c" || is_superchip(name_)) return std::nullopt;
    std::optional<Ceiling> best;
    for (const json& facts : all_facts()) {
      const auto generation = number_at(facts, "/pcie_gpu_max_generation");
      const auto lanes = number_at(facts, "/pcie_max_width");
      if (generation && lanes && *generation >= 1 && *lanes >= 1) take_larger(best, pcie_of(*generation, *lanes));
    }
    if (best || card_ == nullptr) return best;
    const auto generation = number_at(card_->record, "/pcie_gen");
    const auto lanes = number_at(card_->record, "/pcie_lanes");
    return generation && lanes ? std::optional(pcie_of(*generation, *lanes)) : std::nullopt;
  }

  std::optional<Ceiling> nvlink() const {
    std::optional<Ceiling> best;
    for (const json& facts : all_facts()) {
      const auto links = number_at(facts, "/nvlink_links");
      const double version = std::atof(text_at(facts, "nvlink_version").c_str());
      if (!links || *links < 1 || version < 1) continue;
      const double rate = nvlink_link_gbps(version);
      take_larger(best,
                  Ceiling{*links * rate, fmt::format("{} NVLinks x {} GB/s", exact_text(*links), exact_text(rate))});
    }
    if (best || card_ == nullptr || !scale::has_nvlink(*card_) || !card_->interconnect_gbps) return best;
    return Ceiling{*card_->interconnect_gbps / 2,
                   fmt::format("NVLink {} GB/s of both directions / 2", exact_text(*card_->interconnect_gbps))};
  }

  // Between two GPUs, by whatever link joins them.
  std::optional<Ceiling> between() const {
    const std::string link = text_at(measurement_.conditions, "link");
    if (link == "pcie" || link == "host") return pcie();
    std::optional<Ceiling> best = nvlink();
    if (link != "nvlink") take_larger(best, pcie());
    return best;
  }

  // EFA adapters all call themselves 100 Gb/s (the driver writes 4X EDR), so the catalog speaks too.
  std::optional<Ceiling> adapter() const {
    std::optional<Ceiling> best;
    for (const json& nic : document_.system.value("nics", json::array())) {
      const auto speed = number_at(nic, "/speed_gbps");
      if (speed && *speed > 0 && text_at(nic, "kind") != "ethernet")
        take_larger(best, Ceiling{*speed / 8, fmt::format("one adapter of {} Gb/s", exact_text(*speed))});
    }
    const auto sold = sold_adapters();
    if (sold)
      take_larger(
          best, Ceiling{*platform_->network_gbps / *sold / 8,
                        fmt::format("{} Gb/s / {} adapters", exact_text(*platform_->network_gbps), exact_text(*sold))});
    return best;
  }

  // A rail may use every adapter of its node.
  std::optional<Ceiling> all_adapters() const {
    std::optional<Ceiling> best;
    double seen = 0;
    for (const json& nic : document_.system.value("nics", json::array()))
      if (text_at(nic, "kind") != "ethernet") seen += number_at(nic, "/speed_gbps").value_or(0);
    if (seen > 0) best = Ceiling{seen / 8, fmt::format("all adapters, {} Gb/s", exact_text(seen))};
    if (sold_adapters())
      take_larger(best, Ceiling{*platform_->network_gbps / 8,
                                fmt::format("all adapters, {} Gb/s", exact_text(*platform_->network_gbps))});
    return best;
  }

 private:
  static Ceiling pcie_of(double generation, double lanes) {
    return {pcie_gbps(generation, lanes), fmt::format("PCIe {}.0 x{}", exact_text(generation), exact_text(lanes))};
  }

  std::vector<json> all_facts() const {
    std::vector<json> facts;
    for (const DeviceValue& device : measurement_.devices) facts.push_back(device_facts(document_, device.index));
    return facts;
  }

  std::optional<double> sold_adapters() const {
    if (platform_ == nullptr || !platform_->network_gbps) return std::nullopt;
    return number_at(platform_->record, "/network_nics");
  }

  const Document& document_;
  const Measurement& measurement_;
  const Platform* platform_;
  const Accelerator* card_ = nullptr;
  std::string name_;
};

std::optional<Ceiling> times(std::optional<Ceiling> limit, double factor, const char* what) {
  if (!limit || factor == 1) return limit;
  return Ceiling{limit->value * factor, fmt::format("{} x {} {}", exact_text(factor), limit->basis, what)};
}

}  // namespace

std::optional<Ceiling> link_ceiling(const Document& document, const Measurement& measurement, const Catalog& catalog) {
  const std::string& metric = measurement.metric;
  const bool rate = metric.ends_with(".gbps");
  if (!rate || measured_on_host(document, measurement)) return std::nullopt;
  const Links links(document, measurement, catalog);
  const double directions = metric.find("bidirectional") != std::string::npos ? 2 : 1;
  const auto count = static_cast<double>(measurement.devices.size());
  if (metric == "host_link.h2d.gbps" || metric == "host_link.d2h.gbps" || metric == "host_link.bidirectional.gbps")
    return times(links.pcie(), directions, "directions");
  if (metric.starts_with("host_link.") && metric.ends_with(".sum.gbps") && count > 0)
    return times(times(links.pcie(), directions, "directions"), count, "devices");
  if (metric == "p2p.read.gbps" || metric == "p2p.write.gbps" || metric == "p2p.bidirectional.gbps")
    return times(links.between(), directions, "directions");
  if (metric.starts_with("network.rail.")) return links.all_adapters();
  if (metric.starts_with("network.ib.") || metric.starts_with("network.efa.")) return links.adapter();
  return std::nullopt;
}

}  // namespace claimcheck

#include "harness/evidence/bus_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"
#include "harness/scale/allreduce.h"
#include "harness/scale/links.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using scale::bus_factor;
using scale::tree_traffic;

// What is known of one measurement's links; GB/s one way.
struct Links {
  std::string collective;  // "allreduce"
  std::string algorithm;   // lower case; empty: not known
  bool adds = false;       // the switch inside a node can add up
  double ranks = 0;
  double nodes = 1;
  std::optional<double> nvlink;   // of a GPU
  std::optional<double> pcie;     // of a GPU
  std::optional<double> network;  // of a node
  std::string network_text;

  double per_node() const { return ranks / nodes; }
  bool reduces_all() const { return collective == "allreduce" || collective == "collective"; }
  bool runs(const char* name) const { return algorithm.find(name) != std::string::npos; }
};

// The GPU with the fewest links limits all.
std::optional<double> nvlink_of_devices(const Document& document, bool only_active) {
  std::optional<double> least;
  for (const json& device : document.system.value("devices", json::array())) {
    const auto links = number_at(device, only_active ? "/facts/nvlink_links_active" : "/facts/nvlink_links");
    const std::string version = text_at(device.value("facts", json::object()), "nvlink_version");
    if (!links || *links <= 0 || version.empty()) continue;
    const double rate = *links * nvlink_link_gbps(std::atof(version.c_str()));
    if (!least || rate < *least) least = rate;
  }
  return least;
}

std::optional<double> pcie_of_devices(const Document& document) {
  std::optional<double> least;
  for (const json& device : document.system.value("devices", json::array())) {
    const auto generation = number_at(device, "/facts/pcie_gpu_max_generation");
    const auto width = number_at(device, "/facts/pcie_max_width");
    if (!generation || !width || *generation < 1) continue;
    const double rate = pcie_gbps(*generation, *width);
    if (!least || rate < *least) least = rate;
  }
  return least;
}

const Accelerator* accelerator_of(const Document& document, const Platform* platform, const Catalog& catalog) {
  const auto seen = accelerators_seen(document);
  if (seen && !seen->empty())
    if (const Accelerator* found = catalog.find_accelerator(seen->front())) return found;
  return platform == nullptr ? nullptr : catalog.find_accelerator(platform->accelerator);
}

void add_catalog_links(const Platform* platform, const Accelerator* accelerator, Links& links) {
  if (accelerator == nullptr || accelerator->vendor != "NVIDIA") return;
  const std::string inside = platform == nullptr ? std::string() : text_at(platform->record, "intra_node");
  const bool promised = inside.empty() || inside.find("NVLink") != std::string::npos;
  const bool joined = !scale::is_bridged(*accelerator) || links.per_node() <= 2;
  if (!links.nvlink && promised && joined && scale::has_nvlink(*accelerator) && accelerator->interconnect_gbps)
    links.nvlink = *accelerator->interconnect_gbps / 2;
  const auto generation = number_at(accelerator->record, "/pcie_gen");
  if (!links.pcie && generation)
    links.pcie = pcie_gbps(*generation, number_at(accelerator->record, "/pcie_lanes").value_or(16));
}

// The catalog's adapters, else those that the probe saw.
void add_network(const Document& document, const Platform* platform, Links& links) {
  double count = 0;
  if (platform != nullptr && platform->network_gbps) {
    links.network = *platform->network_gbps / 8;
    count = number_at(platform->record, "/network_nics").value_or(0);
  } else {
    double gbit = 0;
    for (const json& nic : document.system.value("nics", json::array())) {
      const auto speed = number_at(nic, "/speed_gbps");
      if (text_at(nic, "kind") == "ethernet" || text_at(nic, "state") == "down" || !speed) continue;
      gbit += *speed;
      ++count;
    }
    if (gbit > 0) links.network = gbit / 8;
  }
  if (!links.network) return;
  const std::string all = number_text(*links.network);
  links.network_text =
      count > 1 ? fmt::format("{:.0f} x {} = {}", count, number_text(*links.network / count), all) : all;
}

// Racks whose NVLink joins machines: their nodes are one as far as links go.
bool nvlink_spans(const Document& document, const Measurement& measurement, const Accelerator* accelerator) {
  const std::string way = text_at(measurement.evidence.value("group", json::object()), "transport");
  if (way.find("NET/") != std::string::npos) return false;
  if (way.find("MNNVL") != std::string::npos) return true;
  if (accelerator != nullptr && accelerator->id.starts_with("nvidia-gb")) return true;
  for (const json& device : document.system.value("devices", json::array()))
    if (flag_at(device.value("facts", json::object()), "fabric_spans_machines")) return true;
  return false;
}

std::optional<Links> links_of(const Document& document, const Measurement& measurement, const Catalog& catalog,
                              bool only_active) {
  constexpr std::string_view ending = ".busbw.gbps";
  if (!measurement.metric.ends_with(ending) || measured_on_host(document, measurement)) return std::nullopt;
  Links links;
  links.collective = measurement.metric.substr(0, measurement.metric.size() - ending.size());
  links.ranks = number_at(measurement.conditions, "/ranks").value_or(static_cast<double>(measurement.devices.size()));
  links.nodes = std::max(1.0, number_at(measurement.conditions, "/nodes").value_or(1));
  if (links.ranks < 2 || links.ranks < links.nodes) return std::nullopt;
  links.algorithm = text_at(measurement.evidence.value("group", json::object()), "algorithm");
  std::transform(links.algorithm.begin(), links.algorithm.end(), links.algorithm.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (links.collective == "network.pair") {  // an all-reduce of two of the nodes
    links.collective = "allreduce";
    links.nodes = 2;
  }
  const Platform* platform = platform_of(document, catalog);
  const Accelerator* accelerator = accelerator_of(document, platform, catalog);
  links.nvlink = nvlink_of_devices(document, only_active);
  links.pcie = pcie_of_devices(document);
  add_catalog_links(platform, accelerator, links);
  links.adds = accelerator == nullptr ? links.nvlink.has_value() : scale::switch_adds(*accelerator);
  if (links.nodes > 1 && nvlink_spans(document, measurement, accelerator)) links.nodes = 1;
  if (links.nodes > 1) add_network(document, platform, links);
  return links;
}

// The least of the tiers, each shown with its factor.
class Tiers {
 public:
  void add(const char* name, const std::string& shown, double rate, double factor) {
    const bool plain = std::abs(factor - 1) < 1e-9;
    parts_.push_back(fmt::format("{} {}{}", name, shown, plain ? "" : fmt::format(" x {}", number_text(factor))));
    const double value = rate * factor;
    if (!least_ || value < *least_) least_ = value;
  }

  std::optional<BusLimit> limit() const {
    if (!least_) return std::nullopt;
    const std::string all = fmt::format("{}", fmt::join(parts_, ", "));
    return BusLimit{*least_, parts_.size() == 1 ? all : "min(" + all + ")"};
  }

 private:
  std::vector<std::string> parts_;
  std::optional<double> least_;
};

void add_tiers(const Links& links, double inside, double between, Tiers& tiers) {
  if (links.per_node() > 1) {
    if (links.nvlink)
      tiers.add("NVLink", number_text(*links.nvlink), *links.nvlink, inside);
    else if (links.pcie)
      tiers.add("PCIe", number_text(*links.pcie), *links.pcie, 1);
  }
  if (links.nodes <= 1) return;
  if (links.pcie) {
    const double all = links.per_node() * *links.pcie;
    tiers.add("PCIe",
              links.per_node() > 1 ? fmt::format("{} x {} = {}", exact_text(links.per_node()), number_text(*links.pcie),
                                                 number_text(all))
                                   : number_text(all),
              all, between);
  }
  if (links.network) tiers.add("network", links.network_text, *links.network, between);
}

double f_of(const Links& links) { return bus_factor(static_cast<int>(links.ranks)); }

double all_to_all_factor(const Links& links) {
  const double k = links.per_node();
  return (links.ranks - 1) / (k * (links.ranks - k));
}

double expected_between(const Links& links) {
  if (links.collective == "alltoall") return all_to_all_factor(links);
  if (!links.reduces_all() || links.nodes <= 1) return 1;
  const double f = f_of(links);
  const double traffic = tree_traffic(static_cast<int>(links.nodes));
  if (links.runs("collnet")) return f;
  if (links.runs("tree")) return f / traffic;
  return links.algorithm.empty() ? f / std::min(f, traffic) : 1;
}

double most_between(const Links& links) {
  if (links.nodes <= 1) return 1;
  const double leaves = (links.nodes - 1) / links.nodes;  // of the data, at least
  if (links.collective == "alltoall") return all_to_all_factor(links);
  if (links.collective == "allgather" || links.collective == "reducescatter")
    return (links.ranks - 1) / links.ranks / leaves;
  if (!links.reduces_all()) return 1;
  const bool may_add = links.algorithm.empty() || links.runs("collnet");
  return may_add ? f_of(links) : f_of(links) / (2 * leaves);
}

}  // namespace

std::optional<BusLimit> expected_bus(const Document& document, const Measurement& measurement, const Catalog& catalog) {
  const auto links = links_of(document, measurement, catalog, true);
  if (!links) return std::nullopt;
  const bool in_switch = links->reduces_all() && (links->algorithm.empty() ? links->adds : links->runs("nvls"));
  Tiers tiers;
  add_tiers(*links, in_switch ? f_of(*links) : 1, expected_between(*links), tiers);
  return tiers.limit();
}

std::optional<BusLimit> most_bus(const Document& document, const Measurement& measurement, const Catalog& catalog) {
  const auto links = links_of(document, measurement, catalog, false);
  if (!links) return std::nullopt;
  const bool in_switch = links->reduces_all() && (links->adds || links->runs("nvls") || links->runs("collnet"));
  Links all = *links;
  // On several nodes a GPU sends over NVLink and its adapter at the same time.
  if (all.nodes > 1 && all.nvlink) *all.nvlink += all.network.value_or(0) / all.per_node();
  Tiers tiers;
  add_tiers(all, in_switch ? f_of(all) : 1, most_between(all), tiers);
  return tiers.limit();
}

}  // namespace claimcheck

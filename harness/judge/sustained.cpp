#include "harness/judge/sustained.h"

#include <fmt/format.h>

#include <vector>

#include "harness/judge/link_rates.h"
#include "harness/judge/machine.h"
#include "harness/statistics.h"

namespace claimcheck {
namespace {

// Share of the data sheet's bandwidth of each measured value of `accelerator`; of `metric` only, or of any memory
// kernel.
std::vector<double> memory_shares(const Catalog& catalog, const Accelerator& accelerator, std::string_view metric) {
  std::vector<double> shares;
  if (!accelerator.memory_bandwidth_gbps) return shares;
  for (const Expected& row : catalog.expected) {
    if (row.accelerator != accelerator.id || !row.typical || row.unit != "GB/s") continue;
    const bool fits = metric.empty() ? row.metric.starts_with("memory.") : row.metric == metric;
    if (fits) shares.push_back(*row.typical / *accelerator.memory_bandwidth_gbps);
  }
  return shares;
}

std::optional<Sustained> memory_share_of_others(const Catalog& catalog) {
  std::vector<double> others;
  for (const Accelerator& other : catalog.accelerators) {
    const std::vector<double> shares = memory_shares(catalog, other, {});
    if (!shares.empty()) others.push_back(median(shares));
  }
  if (others.empty()) return std::nullopt;
  return Sustained{median(others),
                   fmt::format("median of {} other accelerators: nothing is known of this one", others.size()), false};
}

std::optional<Sustained> memory_share(const Catalog& catalog, const Accelerator& accelerator, std::string_view metric) {
  std::vector<double> own = memory_shares(catalog, accelerator, metric);
  if (own.empty()) own = memory_shares(catalog, accelerator, {});
  if (!own.empty())
    return Sustained{median(own), fmt::format("{} measured values of this accelerator", own.size()), true};
  return memory_share_of_others(catalog);
}

std::optional<Sustained> median_of(std::vector<double> shares, bool own, const std::string& what) {
  if (shares.empty()) return std::nullopt;
  const std::string basis = fmt::format("{} measured values of {}", shares.size(), what);
  return Sustained{median(std::move(shares)), basis, own};
}

// Of NVLink, one way: own values, else those of others.
std::optional<Sustained> peer_share(const Catalog& catalog, const Accelerator& accelerator, std::string_view metric) {
  std::vector<double> own, others;
  for (const Expected& row : catalog.expected) {
    if (row.metric != metric || !row.typical || text_at(row.conditions, "link") != "nvlink") continue;
    const Accelerator* card = catalog.find_accelerator(row.accelerator);
    if (card == nullptr || !card->interconnect_gbps) continue;
    (card->id == accelerator.id ? own : others).push_back(*row.typical / (*card->interconnect_gbps / 2));
  }
  if (!own.empty()) return median_of(std::move(own), true, "this accelerator");
  return median_of(std::move(others), false, "other accelerators");
}

// Of PCIe of this generation, whatever the card. A link that reaches less than this share has fewer lanes or an older
// generation than its card's sheet says: another link.
constexpr double another_link = 0.6;

std::optional<Sustained> host_link_share(const Catalog& catalog, const Accelerator& accelerator,
                                         std::string_view metric) {
  const auto generation = number_at(accelerator.record, "/pcie_gen");
  std::vector<double> shares;
  for (const Expected& row : catalog.expected) {
    const Accelerator* card = row.metric == metric ? catalog.find_accelerator(row.accelerator) : nullptr;
    if (card == nullptr || !row.typical || row.conditions.value("devices_at_once", nlohmann::json()) != 1) continue;
    const auto lanes = number_at(card->record, "/pcie_lanes");
    if (!generation || !lanes || number_at(card->record, "/pcie_gen") != generation) continue;
    if (text_at(row.conditions, "link") == "c2c") continue;
    const double share = *row.typical / pcie_gbps(*generation, *lanes);
    if (share >= another_link) shares.push_back(share);
  }
  return median_of(std::move(shares), true, fmt::format("PCIe {:.0f}.0", generation.value_or(0)));
}

// Of an adapter's line rate.
std::optional<Sustained> adapter_share(const Catalog& catalog) {
  std::vector<double> shares;
  for (const Expected& row : catalog.expected)
    if (row.metric.starts_with("network.") && row.typical && row.ceiling) shares.push_back(*row.typical / *row.ceiling);
  return median_of(std::move(shares), true, "RDMA adapters");
}

}  // namespace

std::optional<Sustained> sustained_gemm_share(const Catalog& catalog, const Accelerator& accelerator,
                                              std::string_view data_type) {
  std::string basis;
  if (const auto ratio = typical_ratio(catalog, accelerator, data_type, &basis)) return Sustained{*ratio, basis, true};
  std::vector<double> others;
  for (const Accelerator& other : catalog.accelerators) {
    if (const auto ratio = typical_ratio(catalog, other, data_type)) others.push_back(*ratio);
  }
  if (others.empty()) return std::nullopt;
  return Sustained{median(others),
                   fmt::format("median of {} other accelerators: nothing is known of this one", others.size()), false};
}

std::optional<Sustained> sustained_share(const Catalog& catalog, const Accelerator& accelerator,
                                         std::string_view metric) {
  if (metric.starts_with("memory.")) return memory_share(catalog, accelerator, metric);
  if (metric.starts_with("p2p.")) return peer_share(catalog, accelerator, metric);
  if (metric.starts_with("host_link.")) return host_link_share(catalog, accelerator, metric);
  if (metric.starts_with("network.")) return adapter_share(catalog);
  const std::string data_type = gemm_data_type(metric);
  if (data_type.empty()) return std::nullopt;
  return sustained_gemm_share(catalog, accelerator, data_type);
}

std::optional<Sustained> sustained_share_of_any(const Catalog& catalog, std::string_view metric) {
  return metric.starts_with("memory.") ? memory_share_of_others(catalog) : std::nullopt;
}

double sustained_tolerance(std::string_view metric) {
  const bool wide = metric.starts_with("gemm.") || metric.starts_with("p2p.") || metric.starts_with("host_link.");
  return wide ? 0.10 : 0.05;
}

}  // namespace claimcheck

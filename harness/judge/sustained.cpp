#include "harness/judge/sustained.h"

#include <fmt/format.h>

#include <vector>

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

std::optional<Sustained> memory_share(const Catalog& catalog, const Accelerator& accelerator, std::string_view metric) {
  std::vector<double> own = memory_shares(catalog, accelerator, metric);
  if (own.empty()) own = memory_shares(catalog, accelerator, {});
  if (!own.empty())
    return Sustained{median(own), fmt::format("{} measured values of this accelerator", own.size()), true};
  std::vector<double> others;
  for (const Accelerator& other : catalog.accelerators) {
    const std::vector<double> shares = memory_shares(catalog, other, {});
    if (!shares.empty()) others.push_back(median(shares));
  }
  if (others.empty()) return std::nullopt;
  return Sustained{median(others),
                   fmt::format("median of {} other accelerators: nothing is known of this one", others.size()), false};
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
  const std::string data_type = gemm_data_type(metric);
  if (data_type.empty()) return std::nullopt;
  return sustained_gemm_share(catalog, accelerator, data_type);
}

double sustained_tolerance(std::string_view metric) { return metric.starts_with("gemm.") ? 0.10 : 0.05; }

}  // namespace claimcheck

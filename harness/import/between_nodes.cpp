#include "harness/import/between_nodes.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck::importing {
namespace {

constexpr double sockets_gbps = 2;          // a stream or two of TCP
constexpr double level = 0.8;               // below this share it is a loss, above it noise and tuning
constexpr double unfit = 2.0 / 3;           // below it more nodes are of little use
constexpr double telling_bytes = 64 << 20;  // smaller ones are slower on more nodes, because of their start-up
using Key = std::tuple<std::string, std::string, double>;  // metric, data type, bytes

std::string family_of(const std::string& metric) { return metric.substr(0, metric.find('.')); }

Finding loss(const std::string& metric, double bytes, std::pair<double, double> few, std::pair<double, double> many) {
  return Finding{
      "import.scaling",
      many.second < unfit * few.second ? "error" : "warning",
      fmt::format(
          "{} at {} falls from {} on {:.0f} nodes to {} on {:.0f}, by {:.0f} %: from two nodes on bus bandwidth "
          "should stay nearly level.",
          metric, binary_bytes_text(bytes), quantity_text(few.second, "GB/s"), few.first,
          quantity_text(many.second, "GB/s"), many.first, 100 * (1 - many.second / few.second)),
      "Measure each pair of nodes to find the slow one; NCCL_DEBUG=INFO says which adapters each uses.",
      {{"nodes", {few.first, many.first}}, {"gbps", {few.second, many.second}}}};
}

using Rates = std::map<Key, std::map<double, double>>;  // by nodes: the best

Rates rates_of(const std::vector<Measurement>& measurements) {
  Rates rates;
  for (const Measurement& measurement : measurements) {
    if (!measurement.usable() || !measurement.metric.ends_with(".busbw.gbps")) continue;
    const auto nodes = number_at(measurement.conditions, "/nodes");
    const auto bytes = number_at(measurement.conditions, "/bytes");
    if (!nodes || *nodes < 2 || !bytes || *bytes < telling_bytes) continue;
    double& rate = rates[{measurement.metric, text_at(measurement.conditions, "data_type"), *bytes}][*nodes];
    rate = std::max(rate, *measurement.value);
  }
  return rates;
}

std::vector<Finding> losses(const Rates& rates) {
  std::map<std::string, Finding> found;  // by collective: sizes rise, so that the largest stays
  for (const auto& [key, by_nodes] : rates) {
    const auto& [metric, type, bytes] = key;
    if (by_nodes.size() < 2) continue;
    found.erase(metric + type);
    if (by_nodes.rbegin()->second >= level * by_nodes.begin()->second) continue;
    found.emplace(metric + type, loss(family_of(metric), bytes, *by_nodes.begin(), *by_nodes.rbegin()));
  }
  std::vector<Finding> list;
  for (auto& [metric, finding] : found) list.push_back(std::move(finding));
  return list;
}

// At the best of all sizes: what a healthy adapter of 100 Gb/s carries is several times that.
std::vector<Finding> as_slow_as_sockets(const Rates& rates) {
  std::map<std::string, std::pair<double, double>> best;  // by collective: rate, bytes
  for (const auto& [key, by_nodes] : rates)
    for (const auto& [nodes, rate] : by_nodes)
      if (auto& known = best[std::get<0>(key)]; rate > known.first) known = {rate, std::get<2>(key)};
  std::vector<Finding> list;
  for (const auto& [metric, found] : best) {
    const auto& [rate, bytes] = found;
    if (rate >= sockets_gbps) continue;
    list.push_back(Finding{
        "import.socket_class",
        "warning",
        fmt::format("{} over several nodes reaches {} ({:.1f} Gb/s) at {}: that is what TCP sockets carry, so the "
                    "transport looks like sockets and not RDMA.",
                    family_of(metric), quantity_text(rate, "GB/s"), rate * 8, binary_bytes_text(bytes)),
        "Run it again with NCCL_DEBUG=INFO: NET/Socket in its lines proves it, NET/IB or the plug-in's name the "
        "contrary.",
        {{"gbps", rate}, {"bytes", bytes}}});
  }
  return list;
}

}  // namespace

std::vector<Finding> findings_between_nodes(const std::vector<Measurement>& measurements) {
  const Rates rates = rates_of(measurements);
  std::vector<Finding> list = losses(rates);
  for (Finding& finding : as_slow_as_sockets(rates)) list.push_back(std::move(finding));
  return list;
}

}  // namespace claimcheck::importing

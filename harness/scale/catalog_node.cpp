// All-reduce inside a node as the catalog has it: measured on other machines of the kind, else from the links.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/machine.h"
#include "harness/scale/links.h"
#include "harness/scale/parts.h"

namespace claimcheck::scale {
namespace {

// NCCL 2.28 src/graph/topo.h: what a link carries of its 25 GB/s (NVLink 2 to 4) or 50 GB/s (NVLink 5) one way.
constexpr double hopper_link_share = 20.6 / 25;
constexpr double nvlink_share = 20.0 / 25;
constexpr double nvlink5_share = 40.1 / 50;
// The same file: 12 GB/s for PCIe 3.0 x16, twice that a generation.
constexpr double pcie3_x16_rate = 12e9;
// Values without a size are of the largest messages.
constexpr double size_not_stated = 8.0 * (1 << 30);

struct Point {
  TimedSize timed;
  const Expected* from = nullptr;
};

enum class Kind { ring, any };

// One node's values for `ranks` ranks. Own platform's first; those of other platforms with the accelerator fill up.
std::vector<Point> node_points(const Catalog& catalog, const Platform* platform, const Accelerator& accelerator,
                               int ranks, Kind kind) {
  std::vector<Point> points;
  const auto take = [&](bool own) {
    for (const Expected& expected : catalog.expected) {
      if (expected.metric != "allreduce.busbw.gbps" || expected.kind != "measured" || !expected.typical) continue;
      if (expected.accelerator != accelerator.id) continue;
      const bool is_own = platform != nullptr && expected.platform == platform->id;
      if (is_own != own || number_at(expected.conditions, "/nodes").value_or(0) != 1) continue;
      if (number_at(expected.conditions, "/ranks").value_or(0) != ranks) continue;
      if ((text_at(expected.conditions, "algorithm") == "ring") != (kind == Kind::ring)) continue;
      const double bytes = number_at(expected.conditions, "/bytes").value_or(size_not_stated);
      const bool known =
          std::any_of(points.begin(), points.end(), [&](const Point& point) { return point.timed.bytes == bytes; });
      if (known) continue;
      points.push_back({{bytes, bus_factor(ranks) * bytes / (*expected.typical * 1e9)}, &expected});
    }
  };
  take(true);
  take(false);
  return points;
}

std::string sources_of(const std::vector<Point>& points) {
  std::vector<std::string> ids;
  for (const Point& point : points) {
    for (const std::string& source : point.from->sources) {
      if (std::find(ids.begin(), ids.end(), source) == ids.end()) ids.push_back(source);
    }
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

const Point& largest(const std::vector<Point>& points) {
  return *std::max_element(points.begin(), points.end(),
                           [](const Point& a, const Point& b) { return a.timed.bytes < b.timed.bytes; });
}

struct NodeCurve {
  double rate = 0;               // S / time of large messages
  std::optional<AlphaBeta> fit;  // where there are several sizes
  std::string basis;
};

std::optional<NodeCurve> node_curve(const std::vector<Point>& points, const std::string& what) {
  if (points.empty()) return std::nullopt;
  std::vector<TimedSize> sizes;
  sizes.reserve(points.size());
  for (const Point& point : points) sizes.push_back(point.timed);
  NodeCurve curve;
  curve.fit = fit_alpha_beta(sizes);
  const TimedSize& top = largest(points).timed;
  curve.rate = curve.fit ? curve.fit->bytes_per_second : top.bytes / top.seconds;
  curve.basis = fmt::format("{} on others of the kind, {} size{} ({})", what, points.size(),
                            points.size() == 1 ? "" : "s", sources_of(points));
  return curve;
}

double link_share(const Accelerator& accelerator) {
  if (accelerator.architecture == "Hopper") return hopper_link_share;
  return accelerator.architecture.starts_with("Blackwell") ? nvlink5_share : nvlink_share;
}

// From the data sheet's links.
bool add_links(const Accelerator& accelerator, Machine& machine) {
  Fabric& fabric = machine.fabric;
  const bool pair_only = is_bridged(accelerator) && fabric.ranks_per_node > 2;
  if (has_nvlink(accelerator) && accelerator.interconnect_gbps && !pair_only) {
    fabric.inside = Link::nvlink;
    fabric.ring_rate = *accelerator.interconnect_gbps * 1e9 / 2 * link_share(accelerator);
    machine.facts.push_back(rate_fact("ring inside a node", fabric.ring_rate,
                                      fmt::format("{:.0f} GB/s one way x {:.1f} %, what NCCL counts of such a link",
                                                  *accelerator.interconnect_gbps / 2, link_share(accelerator) * 100),
                                      true));
    return true;
  }
  const auto generation = number_at(accelerator.record, "/pcie_gen");
  if (!generation || accelerator.vendor != "NVIDIA") return false;
  const double lanes = number_at(accelerator.record, "/pcie_lanes").value_or(16);
  fabric.inside = Link::pcie;
  fabric.ring_rate = pcie3_x16_rate * std::exp2(*generation - 3) * lanes / 16;
  machine.facts.push_back(rate_fact("ring inside a node", fabric.ring_rate,
                                    fmt::format("PCIe {:.0f}.0 x{:.0f} as NCCL counts it", *generation, lanes), true));
  machine.notes.emplace_back(
      "All-reduce over PCIe depends on switches, CPUs and shared uplinks that the catalog does not know: it may be "
      "well "
      "below this estimate.");
  return true;
}

// A switch's rate does not depend on how many ranks share it (H200: 259 to 270 GB/s of S / time for 5 to 8), so 8 ranks
// stand in for fewer.
std::optional<NodeCurve> switch_curve(const Catalog& catalog, const Platform* platform, const Accelerator& accelerator,
                                      int ranks) {
  for (const int count : {ranks, 8}) {
    auto curve = node_curve(node_points(catalog, platform, accelerator, count, Kind::any),
                            fmt::format("all-reduce of {} ranks, measured", count));
    if (curve) return curve;
  }
  return std::nullopt;
}

}  // namespace

Fact rate_fact(const std::string& name, double rate, const std::string& basis, bool estimate) {
  return {name, rate / 1e9, "GB/s", basis, estimate};
}

bool add_catalog_node(const Catalog& catalog, const Platform* platform, const Accelerator* accelerator,
                      Machine& machine) {
  if (accelerator == nullptr) return false;
  Fabric& fabric = machine.fabric;
  const int ranks = fabric.ranks_per_node;
  const bool adds = switch_adds(*accelerator);
  auto rings = node_curve(node_points(catalog, platform, *accelerator, ranks, Kind::ring), "ring, measured");
  if (!adds && !rings) {
    rings = node_curve(node_points(catalog, platform, *accelerator, ranks, Kind::any), "all-reduce, measured");
  }
  if (rings) {
    fabric.inside = accelerator->interconnect_gbps ? Link::nvlink : Link::pcie;
    fabric.ring_rate = rings->rate * bus_factor(ranks);
    machine.facts.push_back(rate_fact("ring inside a node", fabric.ring_rate, rings->basis, true));
  } else if (!add_links(*accelerator, machine)) {
    return false;
  }
  const auto switched = adds ? switch_curve(catalog, platform, *accelerator, ranks) : std::nullopt;
  if (switched) {
    fabric.in_switch_rate = switched->rate;
    machine.facts.push_back(rate_fact("all-reduce in the switch, size / time", switched->rate, switched->basis, true));
  }
  const auto& fit = switched ? switched->fit : rings ? rings->fit : std::nullopt;
  if (fit) {
    fabric.overhead_seconds = fit->alpha_seconds - one_node_alpha(fabric);
    machine.facts.push_back({"start of an all-reduce in a node", fit->alpha_seconds * 1e6, "us",
                             fmt::format("fit of {} sizes, off by {:.0f} % rms", fit->points, fit->rms_residual * 100),
                             true});
  }
  return true;
}

}  // namespace claimcheck::scale

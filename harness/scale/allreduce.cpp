#include "harness/scale/allreduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace claimcheck::scale {
namespace {

constexpr double us = 1e-6;

// Seconds by protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;

// NCCL 2.28 src/graph/tuning.cc, baseLatencies and hwLatencies. What it has for PCIe stands for the memory of a CPU,
// too.
constexpr ByProtocol tree_base = {6.8 * us, 14.0 * us, 8.4 * us};
constexpr ByProtocol ring_base = {6.6 * us, 14.0 * us, 8.4 * us};
constexpr ByProtocol tree_nvlink = {0.6 * us, 1.25 * us, 4.0 * us};
constexpr ByProtocol tree_pcie = {1.0 * us, 1.9 * us, 4.0 * us};
constexpr ByProtocol tree_network = {5.0 * us, 8.5 * us, 14.0 * us};
constexpr ByProtocol ring_nvlink = {0.6 * us, 1.9 * us, 3.4 * us};
constexpr ByProtocol ring_pcie = {1.0 * us, 2.5 * us, 5.7 * us};
constexpr ByProtocol ring_network = {2.7 * us, 4.0 * us, 14.0 * us};
constexpr double nvls_inside = 25 * us;
constexpr double nvls_tree_network = 20.9 * us;
// A step of a ring over several nodes takes at least this, also inside a node (getNetOverhead, three times for Simple).
constexpr ByProtocol ring_least = {1.0 * us, 1.0 * us, 3.0 * us};
constexpr double ring_plateau = 1.4;
// Data in what a protocol moves: LL 4 of 8 bytes, LL128 120 of 128; NCCL counts a tree's LL as 1/3.8.
constexpr ByProtocol ring_share = {0.5, 0.92, 1};
constexpr ByProtocol tree_share = {1 / 3.8, 120.0 / 128, 1};
constexpr double tree_inside_share = 0.92;
constexpr double unlimited = std::numeric_limits<double>::infinity();

constexpr std::array protocols = {Protocol::ll, Protocol::ll128, Protocol::simple};

double at(const ByProtocol& values, Protocol protocol) { return values[static_cast<std::size_t>(protocol)]; }

struct Case {
  const Fabric& fabric;
  int nodes;
  double bytes;

  int ranks() const { return nodes * fabric.ranks_per_node; }
  bool several() const { return nodes > 1; }
  double network() const { return several() ? fabric.network_rate.value_or(0) : unlimited; }
  double tree_network_rate() const { return several() ? network() / tree_traffic(nodes) : unlimited; }
  double levels() const { return std::floor(std::log2(nodes)); }
  double between(double step) const { return step + fabric.network_seconds; }
  double overhead(Protocol protocol) const { return protocol == Protocol::simple ? fabric.overhead_seconds : 0; }

  Prediction made(Algorithm algorithm, Protocol protocol, double alpha, double rate, double network_part) const {
    Prediction prediction;
    prediction.algorithm = algorithm;
    prediction.protocol = protocol;
    prediction.alpha_seconds = std::max(0.0, alpha + overhead(protocol));
    prediction.seconds = prediction.alpha_seconds + bytes / rate;
    prediction.network_limits = several() && network_part <= rate;
    return prediction;
  }
};

double ring_alpha(const Case& is, Protocol protocol) {
  const double steps = 2.0 * (is.ranks() - 1);
  const double crossing = is.several() ? std::min(2.0 * is.nodes, steps) : 0;
  double inside = at(is.fabric.inside == Link::nvlink ? ring_nvlink : ring_pcie, protocol);
  if (is.several()) inside = std::max(inside, at(ring_least, protocol));
  const double alpha =
      at(ring_base, protocol) + (steps - crossing) * inside + crossing * is.between(at(ring_network, protocol));
  return is.several() && protocol == Protocol::simple ? alpha * ring_plateau : alpha;
}

Prediction ring(const Case& is, Protocol protocol) {
  const double to_rate = at(ring_share, protocol) / bus_factor(is.ranks());
  const double network = is.network() * to_rate;
  return is.made(Algorithm::ring, protocol, ring_alpha(is, protocol), std::min(is.fabric.ring_rate * to_rate, network),
                 network);
}

Prediction tree(const Case& is, Protocol protocol) {
  const double inside = at(is.fabric.inside == Link::nvlink ? tree_nvlink : tree_pcie, protocol);
  const double alpha = at(tree_base, protocol) + 2 * ((is.fabric.ranks_per_node - 1) * inside +
                                                      is.levels() * is.between(at(tree_network, protocol)));
  const double network = is.tree_network_rate() * at(tree_share, protocol);
  const double node =
      is.fabric.ranks_per_node > 1 ? tree_inside_share * is.fabric.ring_rate / 2 * at(tree_share, protocol) : unlimited;
  return is.made(Algorithm::tree, protocol, alpha, std::min(node, network), network);
}

Prediction nvls(const Case& is) {
  if (!is.several()) return is.made(Algorithm::nvls, Protocol::simple, nvls_inside, *is.fabric.in_switch_rate, 0);
  const double alpha = nvls_inside + 2 * is.levels() * is.between(nvls_tree_network);
  const double network = is.tree_network_rate();
  return is.made(Algorithm::nvls_tree, Protocol::simple, alpha, std::min(*is.fabric.in_switch_rate, network), network);
}

Prediction two_level(const Case& is) {
  const int k = is.fabric.ranks_per_node;
  const double inside = at(is.fabric.inside == Link::nvlink ? ring_nvlink : ring_pcie, Protocol::simple);
  const double alpha = at(ring_base, Protocol::simple) + 2.0 * (k - 1) * inside +
                       2.0 * (is.nodes - 1) * is.between(at(ring_network, Protocol::simple));
  const double node = is.fabric.in_switch_rate.value_or(is.fabric.ring_rate / bus_factor(k));
  const double network = is.network() / bus_factor(is.nodes);
  const double rate = 1 / (1 / node + 1 / network);
  Prediction prediction = is.made(Algorithm::two_level, Protocol::simple, alpha, rate, network);
  prediction.network_limits = network < node;
  return prediction;
}

}  // namespace

std::string_view to_string(Link link) {
  static constexpr std::array names = {"NVLink", "PCIe", "memory"};
  return names[static_cast<std::size_t>(link)];
}

std::string_view to_string(Algorithm algorithm) {
  static constexpr std::array names = {"ring", "tree", "nvls", "nvls_tree", "two_level"};
  return names[static_cast<std::size_t>(algorithm)];
}

std::string_view to_string(Protocol protocol) {
  static constexpr std::array names = {"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(protocol)];
}

double bus_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }

double tree_traffic(int nodes) { return nodes <= 1 ? 0 : nodes == 2 ? 1 : nodes == 3 ? 1.5 : 2; }

double one_node_alpha(const Fabric& fabric) {
  if (fabric.in_switch_rate) return nvls_inside;
  return ring_alpha({fabric, 1, 0}, Protocol::simple);
}

std::vector<Prediction> candidates(const Fabric& fabric, int nodes, double bytes) {
  const Case is{fabric, nodes, bytes};
  std::vector<Prediction> all;
  for (const Protocol protocol : protocols) {
    // NCCL leaves LL128 out where links do not keep 128 bytes together.
    if (protocol == Protocol::ll128 && fabric.inside != Link::nvlink) continue;
    all.push_back(ring(is, protocol));
    all.push_back(tree(is, protocol));
  }
  if (fabric.in_switch_rate && fabric.ranks_per_node > 1) all.push_back(nvls(is));
  if (is.several() && fabric.ranks_per_node > 1) all.push_back(two_level(is));
  return all;
}

Prediction best(const Fabric& fabric, int nodes, double bytes) {
  const std::vector<Prediction> all = candidates(fabric, nodes, bytes);
  return *std::min_element(all.begin(), all.end(), [](const Prediction& a, const Prediction& b) {
    const bool a_builds = a.algorithm == Algorithm::two_level;
    const bool b_builds = b.algorithm == Algorithm::two_level;
    return a_builds != b_builds ? b_builds : a.seconds < b.seconds;
  });
}

double asymptotic_rate(const Fabric& fabric, int nodes) {
  constexpr double large = 1e15;
  const Prediction prediction = best(fabric, nodes, large);
  return large / (prediction.seconds - prediction.alpha_seconds);
}

double network_rate_for(double rate, int ranks, int nodes) {
  return rate * std::min(bus_factor(ranks), tree_traffic(nodes));
}

}  // namespace claimcheck::scale

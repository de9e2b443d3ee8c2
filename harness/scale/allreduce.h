// How long an all-reduce takes on many nodes: alpha-beta per tier, per algorithm and protocol, the best taken. Pure.
//
// n ranks, m nodes, k = n / m ranks a node, S bytes. Rates in bytes a second, one way.
//   bus bandwidth   2 (n-1)/n x S / time                          nccl-tests, doc/PERFORMANCE.md
//   ring            base + (2 (n-1) - x) x inside + x x between + 2 (n-1)/n x S / min(ring, network)
//                   x = 2 m steps cross nodes (0 for one node); the steps' time counts 1.4-fold with the Simple
//                   protocol on several nodes
//   tree            base + 2 ((k-1) x inside + floor(log2 m) x between) + S / min(0.92 x ring / 2, network / c(m))
//   nvls            inside + S / in_switch                        one node whose switch adds up
//   nvls_tree       inside + 2 floor(log2 m) x between + S / min(in_switch, network / c(m))
//   two_level       base + 2 (k-1) x inside + S / inside rate + 2 (m-1) x between + 2 (m-1)/m x S / network
//                   reduce-scatter inside, ring all-reduce of each rank's share between nodes, all-gather inside, one
//                   after the other; frameworks build it, NCCL does not, so it is shown and never chosen
//   c(m)            what the busiest node of a double binary tree sends, in messages: 1 for 2 nodes, 1.5 for 3, 2 for
//                   more (Sanders, Speck, Traeff 2009: each tree carries half, a node is inner in one and leaf in the
//                   other)
// Step latencies, the counts of steps, 0.92, 1.4 and the shares of the protocols: NCCL 2.28 src/graph/tuning.cc, whose
// choice is also the least time over algorithms and protocols.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace claimcheck::scale {

enum class Link { nvlink, pcie, memory };  // between ranks of one node; memory: cores of a CPU
enum class Algorithm { ring, tree, nvls, nvls_tree, two_level };
enum class Protocol { ll, ll128, simple };

std::string_view to_string(Link link);
std::string_view to_string(Algorithm algorithm);
std::string_view to_string(Protocol protocol);

struct Fabric {
  int ranks_per_node = 1;
  Link inside = Link::nvlink;
  double ring_rate = 0;                  // bus bandwidth of rings inside a node
  std::optional<double> in_switch_rate;  // S / time of an all-reduce that the node's switch adds up (NVLS)
  std::optional<double> network_rate;    // what all adapters of a node send one way; unset: only one node
  double network_seconds = 0;            // of each step between nodes, beyond NCCL's own figure
  // What an all-reduce inside one node takes beyond NCCL's figures for it, as measured; may be negative. Added to what
  // uses the Simple protocol, the one that large messages take.
  double overhead_seconds = 0;
};

struct Prediction {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double seconds = 0;
  double alpha_seconds = 0;     // the part that does not depend on the size
  bool network_limits = false;  // the rate of large messages is that of the network
};

double bus_factor(int ranks);    // 2 (n-1)/n
double tree_traffic(int nodes);  // c(m); 0 for one node
double one_node_alpha(
    const Fabric& fabric);  // what `overhead_seconds` is beyond: nvls where the switch adds, else ring

// Every algorithm and protocol that these nodes have, NCCL's first. `nodes` times ranks is at least 2.
std::vector<Prediction> candidates(const Fabric& fabric, int nodes, double bytes);

// The fastest that NCCL has.
Prediction best(const Fabric& fabric, int nodes, double bytes);

// The S / time that large messages approach, and its inverse: the network rate that makes it `rate` on `nodes` > 1.
double asymptotic_rate(const Fabric& fabric, int nodes);
double network_rate_for(double rate, int ranks, int nodes);

}  // namespace claimcheck::scale

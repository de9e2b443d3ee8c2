// How fast a collective can be on the links of a machine: the slowest of NVLink, PCIe and the nodes' adapters. Pure.
// n ranks on m nodes, k = n / m a node; rates of links in GB/s, one way; bus bandwidth as nccl-tests defines it
// (doc/PERFORMANCE.md), f = 2 (n-1)/n.
//   tier inside a node   NVLink of one GPU, else its PCIe; x f for an all-reduce that the switch adds up (NVLS): then
//                        every GPU sends the data once (2 (n-1)/n times without)
//   tier between nodes   min(k x PCIe of one GPU, all adapters of a node) x
//     ring               1           every ring leaves a node once
//     tree, nvls_tree    f / c(m)    c(m): harness/scale/allreduce.h, what the busiest node of the trees sends
//     collnet (SHARP)    f           the network adds up: every node sends the data once
//     all-to-all         (n-1) / (k (n-k))   the k ranks of a node send (n-k)/n of their data to others
// No algorithm sends less than 2 (m-1)/m times the data out of a node unless the network adds up (Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms", JPDC 2009, with nodes for processes), nor less than (m-1)/m in all-gather
// and reduce-scatter: more than that is a measurement error.
// Links: NVLink 1 20, NVLink 2 to 4 25, NVLink 5 50 GB/s a link; PCIe 3.0 x16 15.75, twice that each generation (data
// sheets; PCIe after 128b/130b coding).
#pragma once

#include <optional>
#include <string>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

struct BusLimit {
  double gbps = 0;
  std::string formula;  // "min(NVLink 450, PCIe 8 x 63 = 504, network 32 x 12.5 = 400)"
};

// Of a metric "*.busbw.gbps", of an accelerator. Device facts first, then the catalog row; what nobody knows limits
// nothing, and without a tier there is no limit.
// What the algorithm that ran (any, where the result does not say) can reach:
std::optional<BusLimit> expected_bus(const Document& document, const Measurement& measurement, const Catalog& catalog);
// What nothing can exceed:
std::optional<BusLimit> most_bus(const Document& document, const Measurement& measurement, const Catalog& catalog);

}  // namespace claimcheck

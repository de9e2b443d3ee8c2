// Figures that sellers print under another definition than the metric's, recognised by their value.
//   sparse            2 x the dense peak                        (structured sparsity counts operations not done)
//   of a node         devices x the figure of one               (also sparse; also NVLink and PCIe)
//   both directions   2 x one direction: NVLink as data sheets print it, PCIe
//   binary unit       the data sheet's digits with GiB or TiB   (1.074 or 1.100 times as much)
//   bytes for bits    the network's digits in GB/s              (8 times as much)
//   of all adapters   the network of a node, of a metric of one adapter
// PCIe in one direction, x16: 15.75, 31.5, 63.0 GB/s for generations 3 to 5 (128b/130b).
#pragma once

#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// How many times the claim's figure counts what its metric counts once: 2 for sparse, 2 for both directions of a rate
// whose metric is of one ("p2p.read.gbps[direction=both]"), 1 otherwise.
double counted_times(const Claim& claim);

// "what it is -> how to claim it", at most one; empty when the figure matches no other definition. `accelerator` and
// `platform` may be null.
std::vector<std::string> definition_mismatch(const Claim& claim, const Measurement& measurement,
                                             const Accelerator* accelerator, const Platform* platform);

}  // namespace claimcheck

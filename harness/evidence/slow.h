// Slow devices, nodes and links of a run, each named once with all that speaks for it. Pure.
// The rule is that of outlier.h; `least` is 5 %, or the tolerance of the metric where that is more.
#pragma once

#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

// What a sweep over pairs of nodes found (evidence.guilty_nodes, guilty_links) is taken over; else reads the values per
// device, evidence.processes ({process, node, value}) and the matrices of pairs (evidence.matrix_gbps, matrix_us,
// matrix_ns: devices; in metrics network.*: nodes). Ids: "gpu.slow:3", "gpu.differ", "process.slow:5" (of several
// devices), "node.slow:1", "node.differ", "link.slow:2-5", "network.slow:0-3".
std::vector<Finding> slow_findings(const Document& document);

}  // namespace claimcheck

// Verdicts and findings on how GPUs and nodes really reached each other, against what the platform promises.
#pragma once

#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// "transport.network": an RDMA network between nodes (the catalog row's network_kind), where one is promised.
// "transport.inside_node": NVLink between all GPUs (intra_node; not for bridges, which join pairs).
// Other kinds of network and link promise nothing that a transport could break.
std::vector<Claim> transport_claims(const Platform& platform);

// met; not_met with cost, likely cause and next step; not_measured (one node, or the result does not say);
// inconclusive where the evidence fits both. One collective that goes the slow way is enough for not_met.
Verdict transport_verdict(const Document& document, const Claim& claim, const Catalog& catalog);

// GPUDirect RDMA off though promised ("transport.gpu_direct"), NVLS not at hand ("transport.nvls", info).
std::vector<Finding> transport_findings(const Document& document, const Catalog& catalog);

}  // namespace claimcheck

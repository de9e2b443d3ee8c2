// Verdicts on what a machine is: met, contradicted, or not_measured when the document does not say.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// Claims on identity.accelerator, identity.accelerator_count, identity.interconnect_gbps, identity.network_gbps,
// identity.accelerator_memory_gb (of each), identity.vcpus, identity.ram_gib, identity.local_nvme_gb,
// identity.software.NAME (harness/judge/software.h).
// Memory and disks count as there from 92 % of what was sold: firmware and kernel keep a part.
Verdict identity_verdict(const Document& document, const Claim& claim, const Catalog& catalog);

// "number of accelerators" of "identity.accelerator_count"; of transports, too. Any other text comes back as it is.
std::string identity_name(const std::string& metric);

}  // namespace claimcheck

// Verdicts on what a machine is: met, contradicted, or not_measured when the document does not say.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// Claims on identity.accelerator, identity.accelerator_count,
// identity.accelerator_memory_gb (of each), identity.vcpus, identity.ram_gib, identity.local_nvme_gb.
// Memory and disks count as there from 92 % of what was sold: firmware and kernel keep a part.
Verdict identity_verdict(const Document& document, const Claim& claim, const Catalog& catalog);

}  // namespace claimcheck

// What the links and adapters of a machine say about themselves, against what was sold: identity claims that no
// benchmark decides.
#pragma once

#include "harness/result/document.h"

namespace claimcheck {

// identity.interconnect_gbps: the links of the GPU with the fewest active ones, both directions added up.
Verdict interconnect_verdict(const Document& document, const Claim& claim);

// identity.network_gbps: the adapters of a node, by the line rates they report. EFA adapters report none that means
// anything, so they are counted.
Verdict network_rate_verdict(const Document& document, const Claim& claim);

}  // namespace claimcheck

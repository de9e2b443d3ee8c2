// Verdicts on claims about a metric.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// definition keys that count: conditions, also (further metrics that may speak for the claim), sparse, per ("node"),
// strictly, accelerator (id; then only accelerators speak), kind "peak" (an arithmetic peak of a data sheet).
Verdict numeric_verdict(const Document& document, const Claim& claim, const Catalog& catalog);

}  // namespace claimcheck

// What measurements say about the machine, beside what the probe saw of it.
#pragma once

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck {

// GPUs that did not start, sick or badly set up GPUs and links, slow devices, nodes and links, transports that fall
// short of what is promised.
std::vector<Finding> measured_findings(const Document& document, const Catalog& catalog);

// Whether one is of these, not of the probe.
bool is_measured_finding(const Finding& finding);

// Puts those in the place of the ones that an earlier judging left; the probe's stay.
void replace_measured_findings(Document& document, const std::vector<Finding>& findings);

}  // namespace claimcheck

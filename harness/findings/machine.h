// What the devices and the measurements of a document say is wrong with the machine, whether or not a number is low.
// Pure. What a document does not tell is unknown, and unknown is never a finding. Each kind is one finding that names
// all devices it is about; docs/findings.md has the kinds.
#pragma once

#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/findings/gpu_view.h"
#include "harness/result/document.h"

namespace claimcheck {

std::vector<Finding> machine_findings(const Document& document, const Catalog& catalog);

// Their parts.
std::vector<Finding> health_findings(const std::vector<GpuView>& gpus, const Catalog& catalog);  // gpu_health.cpp
std::vector<Finding> setting_findings(const std::vector<GpuView>& gpus);                         // gpu_settings.cpp
std::vector<Finding> link_findings(const Document& document, const std::vector<GpuView>& gpus,
                                   const Catalog& catalog);  // gpu_links.cpp

}  // namespace claimcheck

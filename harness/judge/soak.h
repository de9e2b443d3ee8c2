// Whether devices keep under load what they reach at first.
#pragma once

#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

// Of each "*.retention" of GPUs (harness/evidence/soak.h), held to 1 less the metric's tolerance, comparison "typical":
// NVIDIA's own sustained test passes a GPU at 95 % of its target (DCGM, Targeted Stress, target_perf_min_ratio 0.95).
// None for CPUs: a virtual machine's cores are rarely its own.
std::vector<Verdict> soak_verdicts(const Document& document);

}  // namespace claimcheck

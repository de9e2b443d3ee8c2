// Whether GPUs that work at the same time are as fast as each alone.
#pragma once

#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

// Compute alone (scaling.gemm, scaling.memory) at the most ranks: every GPU has units and memory of its own, so
// nothing but power, heat and a slow one among them can be lost; held to 1 less the metric's tolerance, comparison
// "typical". Training and collectives also communicate: what they keep depends on the fabric and is not judged here.
// None for CPUs, whose cores share a memory.
std::vector<Verdict> scaling_verdicts(const Document& document);

}  // namespace claimcheck

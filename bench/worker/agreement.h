// What the processes of a run agree upon: the cases to measure, and whether one of them failed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/worker/registry.h"

namespace claimcheck::bench {

// Ends a phase. Unset when no process failed in it; else the failure that all report: the reason itself when all say
// the same, else that of the first process with a reason of its own, with its number and node and how many others
// failed.
std::optional<Failure> agree(kernels::World& world, const std::optional<Failure>& mine);

// The same from what was said already.
Failure agreed_failure(const kernels::World& world, const kernels::PhaseReports& reports);

// Those of process 0, to all: sizes of cases come from the memory of a machine, and machines differ by a little.
std::vector<ListedCase> share_cases(kernels::World& world, const std::vector<ListedCase>& mine);

// "process 3 on node 1"; nothing to say of a single process.
std::string place_of(const kernels::World& world, int process);

}  // namespace claimcheck::bench

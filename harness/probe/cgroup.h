// Limits that control groups put on this process, version 1 and 2.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/probe/tree.h"

namespace claimcheck::probe {

// CPU time in cores (2.5: two and a half), the least of all levels above this process. Unset: no limit.
std::optional<double> cgroup_cpu_cores(const Tree& tree);

// Unset: no limit. Version 1 writes "no limit" as a number near 2^63.
std::optional<std::int64_t> cgroup_memory_bytes(const Tree& tree);

}  // namespace claimcheck::probe

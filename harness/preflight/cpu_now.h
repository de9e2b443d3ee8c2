// What the CPUs do at this moment, while this process waits: others at work, time stolen by the hypervisor. The probe
// knows only sums since boot.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "harness/result/measurement.h"

namespace claimcheck::preflight {

// Ticks since boot of all CPUs together, from the first line of /proc/stat.
struct CpuTicks {
  double busy = 0;
  double steal = 0;
  double total = 0;
};
std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat);

// The load of the last minute a CPU, from /proc/loadavg.
std::optional<double> load_a_cpu(std::string_view proc_loadavg, double cpus);

// "cpu.busy", "cpu.steal_now", "cpu.load". Ticks that do not go on (a file that never changes) say nothing.
std::vector<Finding> cpu_findings(const std::optional<CpuTicks>& before, const std::optional<CpuTicks>& after,
                                  std::optional<double> load);

}  // namespace claimcheck::preflight

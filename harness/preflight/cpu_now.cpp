#include "harness/preflight/cpu_now.h"

#include <fmt/format.h>

#include <sstream>
#include <string>

namespace claimcheck::preflight {
namespace {

// A runner's own agent takes a few percent; what takes a quarter of the machine takes it from the measurement as well.
constexpr double some_work = 0.08;
constexpr double much_work = 0.25;
constexpr double much_steal = 0.02;
constexpr double high_load = 0.5;

constexpr const char* who = "`top` shows who; let the machine do nothing else while it is measured.";

}  // namespace

std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat) {
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; guests' time is in user already.
  std::istringstream line{std::string(proc_stat.substr(0, proc_stat.find('\n')))};
  std::string name;
  double field[8] = {};
  line >> name;
  for (double& value : field) line >> value;
  if (!line || name != "cpu") return std::nullopt;
  CpuTicks ticks;
  for (const double value : field) ticks.total += value;
  ticks.steal = field[7];
  ticks.busy = ticks.total - field[3] - field[4] - ticks.steal;
  return ticks;
}

std::optional<double> load_a_cpu(std::string_view proc_loadavg, double cpus) {
  std::istringstream line{std::string(proc_loadavg)};
  double load = 0;
  if (!(line >> load) || !(cpus > 0)) return std::nullopt;
  return load / cpus;
}

std::vector<Finding> cpu_findings(const std::optional<CpuTicks>& before, const std::optional<CpuTicks>& after,
                                  std::optional<double> load) {
  std::vector<Finding> findings;
  const double ticks = before && after ? after->total - before->total : 0;
  if (ticks > 0) {
    const double busy = (after->busy - before->busy) / ticks;
    const double steal = (after->steal - before->steal) / ticks;
    if (busy > some_work) {
      findings.push_back({"cpu.busy",
                          busy > much_work ? "error" : "warning",
                          fmt::format("Other processes use {:.0f} % of the CPUs at this moment.", 100 * busy),
                          who,
                          {{"busy_share", busy}}});
    }
    if (steal > much_steal) {
      findings.push_back(
          {"cpu.steal_now",
           "error",
           fmt::format("The hypervisor gives {:.0f} % of the CPU time to others at this moment.", 100 * steal),
           "Wait and try again, or ask for a dedicated host.",
           {{"steal_share", steal}}});
    }
  }
  if (load && *load > high_load) {
    findings.push_back({"cpu.load",
                        "warning",
                        fmt::format("In the last minute {:.2g} processes a CPU wanted to run.", *load),
                        who,
                        {{"load_a_cpu", *load}}});
  }
  return findings;
}

}  // namespace claimcheck::preflight

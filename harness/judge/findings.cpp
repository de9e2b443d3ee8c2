#include "harness/judge/findings.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/evidence/left_out.h"
#include "harness/evidence/slow.h"
#include "harness/findings/kinds.h"
#include "harness/findings/machine.h"
#include "harness/judge/transport_verdict.h"

namespace claimcheck {
namespace {

// What the probe says is known before anything was measured, and stays.
constexpr std::array<std::string_view, 12> of_the_probe = {
    "cpu.quota",     "cpu.affinity",    "cpu.steal", "memory.swap", "memory.low", "memory.limit",
    "gpu.no_driver", "gpu.not_visible", "shm.small", "device.host", "worker.",    "run."};

}  // namespace

bool is_measured_finding(const Finding& finding) {
  constexpr std::array<std::string_view, 6> families = {"gpu.",  "process.",     "node.",
                                                        "link.", "network.slow", "transport."};
  const auto starts = [&](std::string_view family) { return finding.id.starts_with(family); };
  return std::any_of(families.begin(), families.end(), starts) &&
         std::none_of(of_the_probe.begin(), of_the_probe.end(), starts);
}

std::vector<Finding> measured_findings(const Document& document, const Catalog& catalog) {
  std::vector<Finding> findings = left_out_findings(document);
  for (auto&& more :
       {machine_findings(document, catalog), slow_findings(document), transport_findings(document, catalog)})
    findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

void replace_measured_findings(Document& document, const std::vector<Finding>& findings) {
  std::erase_if(document.findings, is_measured_finding);
  document.findings.insert(document.findings.end(), findings.begin(), findings.end());
  for (Finding& finding : document.findings) add_cause(finding);
}

}  // namespace claimcheck

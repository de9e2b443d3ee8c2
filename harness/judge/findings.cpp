#include "harness/judge/findings.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/evidence/left_out.h"
#include "harness/evidence/slow.h"
#include "harness/judge/transport_verdict.h"

namespace claimcheck {
namespace {

bool is_measured(const Finding& finding) {
  constexpr std::array<std::string_view, 8> families = {
      "gpu.left_out:", "gpu.slow:", "gpu.differ", "process.slow:", "node.", "link.slow:", "network.slow", "transport."};
  return std::any_of(families.begin(), families.end(),
                     [&](std::string_view family) { return finding.id.starts_with(family); });
}

}  // namespace

std::vector<Finding> measured_findings(const Document& document, const Catalog& catalog) {
  std::vector<Finding> findings = left_out_findings(document);
  for (auto&& more : {slow_findings(document), transport_findings(document, catalog)})
    findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

void replace_measured_findings(Document& document, const std::vector<Finding>& findings) {
  std::erase_if(document.findings, is_measured);
  document.findings.insert(document.findings.end(), findings.begin(), findings.end());
}

}  // namespace claimcheck

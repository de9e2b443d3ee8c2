// The kinds of findings: docs/findings.md, which this program carries, is the table. A kind's likely cause and next
// step are told from there, so that page and program say the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/result/measurement.h"

namespace claimcheck {

struct FindingKind {
  std::string id;         // "gpu.throttled"
  std::string severity;   // "info", "warning", "error": the usual one
  std::string when;       // what it is seen by
  std::string cause;      // likely
  std::string next_step;  // {device} stands for the first device
};

const std::vector<FindingKind>& finding_kinds();

// Of "gpu.slow:3" that of "gpu.slow"; nullptr when the page has none.
const FindingKind* find_kind(std::string_view id);

// Of this kind, with the page's cause, next step and severity. Throws std::logic_error for a kind the page lacks.
Finding finding_of_kind(std::string_view id, std::string text, nlohmann::json evidence, int device = -1);

// Gives a finding that lacks a cause that of its kind.
void add_cause(Finding& finding);

// "## gpu.throttled" and three paragraphs "**Seen by (warning).** ... **Likely cause.** ... **Next step.** ...". Throws
// std::invalid_argument naming the section and what it lacks.
std::vector<FindingKind> kinds_of(std::string_view page);

}  // namespace claimcheck

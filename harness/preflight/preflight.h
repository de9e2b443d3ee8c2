// Is this machine fit to benchmark at all: nobody else on it, nothing throttled, clocks as they should be, answers
// right. A look at the machine and a short load, under a minute. docs/ci.md is what a user reads of it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/error.h"
#include "harness/result/document.h"
#include "harness/run/plan.h"
#include "harness/run/settings.h"

namespace claimcheck::preflight {

struct Answer {
  Document document;  // what the probe and the worker say, the measurements of the short load, all findings
  double seconds = 0;
};

// Findings of severity "error" spoil every figure: not fit. "warning" is worth knowing, and unfit only when `strict`.
bool is_fit(const Answer& answer, bool strict);
ExitCode exit_code(const Answer& answer, bool strict);

// Looks, measures for some 20 s at most, and looks at what that showed. Throws UserError: exit 3 without a usable
// device.
Answer look(const MeasureSettings& settings, const std::filesystem::path& system_root, const Catalog& catalog);

// One case a family (what stands before the first dot) of those that load every device, as long as they are expected to
// end within `seconds` together: quick, of first priority, the one with the longest iteration. Pure.
std::vector<PlannedCase> short_load(const Plan& plan, double seconds);

// Answers of the load that are wrong or unsteady. Pure.
std::vector<Finding> load_findings(const Document& document);

// Makes errors of findings that a report only warns of and that spoil every figure: somebody else on the GPU,
// slowdowns, clocks held down. Pure.
void raise_what_spoils(std::vector<Finding>& findings);

std::string verdict_sentence(const Answer& answer, bool strict);
std::string answer_text(const Answer& answer, bool strict, bool colour);
std::string answer_markdown(const Answer& answer, bool strict);
nlohmann::json answer_json(const Answer& answer, bool strict);

}  // namespace claimcheck::preflight

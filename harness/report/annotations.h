// Workflow commands of GitHub Actions ("::error title=...::text"): what a job prints so that the run's page shows it.
// GitLab and others show them as plain lines of the log. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/result/measurement.h"

namespace claimcheck {

struct Annotation {
  std::string level;  // "error", "warning", "notice"
  std::string title;
  std::string text;
};

// One line each, errors first; of each level the first ten, as many as GitHub shows of a step, the tenth then saying
// how many there are. Escaped as the runner undoes it, so that no text can end the command or begin another.
std::string annotation_lines(const std::vector<Annotation>& annotations);

// A finding in one line: what was seen, the likely cause, what to do.
std::string finding_sentences(const Finding& finding);

}  // namespace claimcheck

// The parts of the page that are text and tables; each is HTML, or empty. All take a sanitised document.
#pragma once

#include <string>

#include "harness/result/document.h"

namespace claimcheck::report {

// The verdict in one sentence, and how many claims met what fate.
std::string verdict_html(const Document& document);

// Every claim with what was measured, then why, the evidence and what to do.
std::string claims_html(const Document& document);

std::string findings_html(const Document& document);
std::string cost_html(const Document& document);
std::string measurements_html(const Document& document);
std::string environment_html(const Document& document);

}  // namespace claimcheck::report

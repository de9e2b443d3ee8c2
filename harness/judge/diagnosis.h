// Why a number is low, from the evidence in the document, and what to do next.
#pragma once

#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

// "why -> what to do next", most likely first; empty when the evidence has no explanation.
std::vector<std::string> diagnose(const Document& document, const Measurement& measurement);

}  // namespace claimcheck

// A verdict as the cells of a table, the same words for every report.
#pragma once

#include <string>
#include <vector>

#include "harness/result/verdict.h"

namespace claimcheck {

struct VerdictRow {
  std::string group;     // whose promise: "data sheet of one NVIDIA H100 SXM 80GB"
  std::string name;      // "matrix multiply, bf16"
  std::string claimed;   // "989 TFLOPS"; "-" for a typical value
  std::string measured;  // "612 TFLOPS"; "-" when nothing was
  std::string share;     // of the claim: "62 %"
  std::string typical;   // of healthy machines: "720-795"
  std::string verdict;   // "not met", "as typical", "low"
};

// `all`: the verdicts it stands among; a typical value is taken from them.
VerdictRow verdict_row(const Verdict& verdict, const std::vector<Verdict>& all);

// A typical value that is as it should be stands in the row of its claim, and has none of its own.
bool has_row(const Verdict& verdict, const std::vector<Verdict>& all);

}  // namespace claimcheck

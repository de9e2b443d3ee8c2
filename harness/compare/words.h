// Rows of a comparison in words, shared by the text for terminals and for pull requests. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/compare/compare.h"

namespace claimcheck::compare {

std::string row_name(const Row& row);             // "gemm.bf16.tflops, n 8192"
std::string change_text(double relative);         // "-6.1 %", "+0.4 %", "x 3.2" from three times on
std::string interval_text(const Change& change);  // "-7.1 .. -5.0 %"; empty when unknown
std::string limit_text(Beyond beyond);            // "beyond", "perhaps", ""

// Devices that changed on their own: "GPU 3 -12.0 %, GPU 5 -11.4 %"; when all did, "all 8 devices"; empty for none.
std::string devices_sentence(const Row& row);

// Rows of one state with equal reasons together: the reason, and the names.
std::vector<std::pair<std::string, std::vector<std::string>>> by_reason(const Comparison& comparison, State state);

// Rows of one state, the largest loss (of the row or its worst device) first; for `better` the largest gain.
std::vector<const Row*> sorted_rows(const Comparison& comparison, State state);

// Loss of the row or of its worst device.
double worst_loss(const Row& row);

// "12 unchanged, 1 unclear, 2 missing": states that no table shows, those without a row left out.
std::string counts_text(const Comparison& comparison);

}  // namespace claimcheck::compare

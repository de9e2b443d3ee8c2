// Data sheets print the arithmetic peak. What share of it healthy parts keep up, from the catalog's measured values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/catalog/catalog.h"

namespace claimcheck {

struct Sustained {
  double share = 0;   // of the data sheet's dense figure; 0.80 is 80 %
  std::string basis;  // where it comes from, for people
  bool own = true;    // false: nothing is known of this accelerator, the median of others stands in
};

// Of a GEMM metric ("gemm.bf16.tflops") or of memory bandwidth ("memory.read.gbps"). Unset when nothing is known.
std::optional<Sustained> sustained_share(const Catalog& catalog, const Accelerator& accelerator,
                                         std::string_view metric);

// Of a GEMM in `data_type`: typical_ratio() of the catalog; where it knows nothing, the median of what it knows of
// others.
std::optional<Sustained> sustained_gemm_share(const Catalog& catalog, const Accelerator& accelerator,
                                              std::string_view data_type);

// How far below what healthy parts sustain is still as expected: 10 % for GEMM, 5 % for memory (facts, section 6).
double sustained_tolerance(std::string_view metric);

}  // namespace claimcheck

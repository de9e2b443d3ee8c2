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

// Of a GEMM metric ("gemm.bf16.tflops"), of memory bandwidth ("memory.read.gbps"), of NVLink or PCIe one way
// ("p2p.read.gbps", "host_link.h2d.gbps") or of an adapter ("network.ib.gbps"): of the printed figure, one way. Unset
// when nothing is known.
std::optional<Sustained> sustained_share(const Catalog& catalog, const Accelerator& accelerator,
                                         std::string_view metric);

// Of a GEMM in `data_type`: typical_ratio() of the catalog; where it knows nothing, the median of what it knows of
// others.
std::optional<Sustained> sustained_gemm_share(const Catalog& catalog, const Accelerator& accelerator,
                                              std::string_view data_type);

// Of a card that nobody names: what others keep up, for memory only; matrix units differ too much.
std::optional<Sustained> sustained_share_of_any(const Catalog& catalog, std::string_view metric);

// How far below what healthy parts sustain is still as expected: 10 % for GEMM, 5 % for memory and adapters (facts,
// section 6), 10 % for links (a driver alone moved NVLink by 7 %, boards differ in PCIe by as much; facts 4.14).
double sustained_tolerance(std::string_view metric);

}  // namespace claimcheck

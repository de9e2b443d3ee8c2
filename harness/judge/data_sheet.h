// What a data sheet claims of one accelerator, with the definition in which it counts. Pure.
#pragma once

#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/verdict.h"

namespace claimcheck {

// {"from": "catalog", "ids": [...], "text": title and "date" of the first that is known}.
nlohmann::json source_of(const Sources& sources, const Catalog& catalog);

// Of one accelerator, from what the catalog knows and nothing else: dense TFLOPS of each data type, memory bandwidth,
// the rate of its links to other GPUs (both directions added up, as sheets print it) and of its PCIe one way. On a
// `platform` only what a GPU can show there: links that a pair of GPUs has to itself.
std::vector<Claim> data_sheet_claims(const Accelerator& accelerator, const Platform* platform, const Catalog& catalog);

}  // namespace claimcheck

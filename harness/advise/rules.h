// Rules of thumb of the selection guides, held against an answer: they hold for this model, or numbers say otherwise.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/advise/advise.h"

namespace claimcheck::advise {

// [{"claims": ["G0-37"], "rule": "...", "verdict": "holds" | "contradicted" | "open", "why": "..."}]. `rows` as in the
// answer, ranked; only rules that say something about this workload are given. Claims are ids of catalog/claims.
nlohmann::json rules_of_thumb(const nlohmann::json& rows, const AdviseOptions& options, const Catalog& catalog);

}  // namespace claimcheck::advise

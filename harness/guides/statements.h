// The statements of the buying guides (catalog/claims), each held against what decides it: the catalog's facts and
// prices, a formula, a device, a benchmark; opinions stay opinions. Pure.
//
// Formulas: states of a model 16 bytes a parameter (harness/advise/need.h); saving 1 - reserved / on demand, and
// break-even utilisation reserved / on demand (facts F1 to F3); energy saving 1 - PUE / PUE (F4); hardware saving
// 1 - before / after (F5). docs/catalog.md says how to read the answer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"

namespace claimcheck::guides {

// What was computed about a statement now, beside the verdict its record has.
struct Computed {
  std::string text;            // one sentence with the numbers
  std::optional<bool> agrees;  // with what the statement says; unset where the number only informs
};

// From the catalog's facts and prices: of price, network, memory, peak and link statements about a known platform or
// accelerator, and of savings. Unset when nothing can be looked up.
std::optional<Computed> from_catalog(const nlohmann::json& statement, const Catalog& catalog);

// From arithmetic alone. `statements`: all, since some are about numbers of others.
std::optional<Computed> from_formula(const nlohmann::json& statement, const nlohmann::json& statements);

// {schema_version, kind: "statements", guide, counts{}, statements[{..., judged_by[], computed{}, measured}]}.
// `guide` 0 to 2, unset: all. With a document of a machine a statement is about (of any machine, when it names
// none), its `testable` claims judge it. Throws
// UserError for another guide.
nlohmann::json statements_json(const Catalog& catalog, std::optional<int> guide, const Document* document);

// At most `width` columns.
std::string statements_text(const nlohmann::json& answer, std::size_t width, bool colour);

}  // namespace claimcheck::guides

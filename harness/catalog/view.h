// What `claimcheck catalog list` and `show` answer: documents (results-schema/schemas/catalog-answer.schema.json), and
// their text. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/catalog/catalog.h"

namespace claimcheck {

inline constexpr int stale_after_days = 90;

struct CatalogQuery {
  std::string kind;      // "", "accelerators", "platforms", "prices", "expected", "claims"
  std::string provider;  // empty: all
  std::string today;     // ISO date
};

// Without a kind: how many of each, and each provider with its newest price. Throws UserError naming the nearest kind
// or provider.
nlohmann::json catalog_list_json(const Catalog& catalog, const CatalogQuery& query);

// A platform or an accelerator with prices, expected values and what the guides say. Throws UserError naming the
// nearest, or the candidates of an ambiguous name.
nlohmann::json catalog_show_json(const Catalog& catalog, const std::string& name, const std::string& today);

// A check as a document.
nlohmann::json catalog_check_json(const std::vector<CatalogProblem>& problems);

// Their text, at most `width` columns.
std::string catalog_list_text(const nlohmann::json& list, std::size_t width, bool colour);
std::string catalog_show_text(const nlohmann::json& shown, std::size_t width, bool colour);
std::string catalog_check_text(const nlohmann::json& checked, std::size_t width, bool colour);

}  // namespace claimcheck

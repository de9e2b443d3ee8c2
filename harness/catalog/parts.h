// The reader's parts, one a kind of file. Each throws CatalogError at the first wrong record of what it reads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/catalog/files.h"
#include "harness/catalog/record.h"

namespace claimcheck {

// Files into a catalog. Without `problems` the first error is thrown as UserError; with it, each is added there and the
// record left out.
Catalog read_catalog(const std::vector<CatalogFile>& files, std::vector<CatalogProblem>* problems = nullptr);

// Every rule of check_catalog() over these files.
std::vector<CatalogProblem> check_files(const std::vector<CatalogFile>& files);

namespace catalog_parts {

Source read_source(const nlohmann::json& value, const std::string& file, const std::string& pointer);
Accelerator read_accelerator(const nlohmann::json& value, const std::string& file, const std::string& pointer);
Platform read_platform(const nlohmann::json& value, const std::string& file, const std::string& pointer);
Fee read_fee(const nlohmann::json& value, const std::string& file, const std::string& pointer);
Currency read_currency(const nlohmann::json& value, const std::string& file, const std::string& pointer);
Expected read_expected(const nlohmann::json& value, const std::string& file, const std::string& pointer);
// Statements, contradictions and rules are kept as they are; these only check their fields.
void read_guide_claim(const nlohmann::json& value, const std::string& file, const std::string& pointer);
void read_contradiction(const nlohmann::json& value, const std::string& file, const std::string& pointer);
void read_system(const nlohmann::json& value, const std::string& file, const std::string& pointer);
void read_rule(const nlohmann::json& value, const std::string& file, const std::string& pointer);

// Calls `guarded` once a row, which runs what it is given and deals with its CatalogError.
using Guard = std::function<void(const std::function<void()>&)>;
void read_prices(const CatalogFile& file, const Guard& guarded, std::vector<Price>& prices);

}  // namespace catalog_parts
}  // namespace claimcheck

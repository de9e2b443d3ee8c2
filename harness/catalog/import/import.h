// `claimcheck catalog import`: prices of other projects' lists into a catalog. Pure but for reading the lists; what is
// to be written comes back as files.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/catalog/files.h"
#include "harness/catalog/import/merge.h"

namespace claimcheck {

struct ImportOptions {
  std::vector<std::filesystem::path> files;
  std::string format = "auto";
  std::string provider;              // of lists that do not say whose they are
  std::string as_of;                 // of lists without a date inside; empty: undated
  std::vector<std::string> replace;  // patterns of "provider:instance"
  std::string today;                 // ISO date
};

struct ImportedPrices {
  catalog_import::Collected collected;
  catalog_import::Merged merged;
  std::vector<CatalogFile> files;    // of the new catalog, all of them
  std::vector<std::string> changed;  // paths of those that differ from the old catalog's
};

// Throws UserError: a list that cannot be read (nothing is taken then), a catalog that cannot be loaded, options that
// make no sense. Shuffled or repeated rows give the same files.
ImportedPrices import_prices(const ImportOptions& options, const std::vector<CatalogFile>& catalog);

// A catalog in `directory`: a new directory at once or not at all, an existing one file by file, each whole, sources
// first. Throws UserError.
void write_catalog(const std::filesystem::path& directory, const ImportedPrices& imported);

// What was done, for people and for programs (results-schema/schemas/catalog-answer.schema.json). `written`: into which
// directory; empty: nowhere.
nlohmann::json import_json(const ImportedPrices& imported, const ImportOptions& options, const std::string& written);
std::string import_text(const ImportedPrices& imported, const std::string& written, std::size_t width, bool colour);

}  // namespace claimcheck

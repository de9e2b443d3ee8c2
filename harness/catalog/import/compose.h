// The files of a catalog with the prices of an import in them. Lines that stay are left as they are.
#pragma once

#include <string>
#include <vector>

#include "harness/catalog/files.h"
#include "harness/catalog/import/merge.h"

namespace claimcheck::catalog_import {

// Changes `files`, and gives the paths of those that it changed: sources.json, then prices/PROVIDER.csv.
std::vector<std::string> compose(std::vector<CatalogFile>& files, const Merged& merged, const std::vector<Feed>& feeds);

}  // namespace claimcheck::catalog_import

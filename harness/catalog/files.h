// The files of a catalog, from the binary or from a directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace claimcheck {

struct CatalogFile {
  std::string path;  // below the catalog: "prices/aws.csv"
  std::string text;
};

// Every .json and .csv file, sorted by path. Throws UserError: not a directory, no such file in it, unreadable.
std::vector<CatalogFile> catalog_files(const std::optional<std::filesystem::path>& directory);

}  // namespace claimcheck

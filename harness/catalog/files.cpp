#include "harness/catalog/files.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "harness/embedded.h"
#include "harness/error.h"
#include "harness/result/json_text.h"

namespace claimcheck {
namespace {

constexpr std::string_view embedded_prefix = "catalog/";

std::vector<CatalogFile> from_directory(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw UserError(directory.string() + ": no such directory; expected a catalog (docs/catalog.md has its layout)");
  }
  std::vector<CatalogFile> files;
  for (std::filesystem::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (!entry->is_regular_file() || (path.extension() != ".json" && path.extension() != ".csv")) continue;
    files.push_back({path.lexically_relative(directory).generic_string(), read_text(path)});
  }
  if (error) throw UserError(directory.string() + ": cannot be read: " + error.message());
  if (files.empty()) {
    throw UserError(directory.string() +
                    ": holds no catalog; expected sources.json, accelerators/*.json, platforms/*.json, prices/*.csv, "
                    "expected/*.json and claims/*.json");
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace

std::vector<CatalogFile> catalog_files(const std::optional<std::filesystem::path>& directory) {
  if (directory) return from_directory(*directory);
  std::vector<CatalogFile> files;
  for (const auto& [path, text] : embedded_files(embedded_prefix)) {
    files.push_back({std::string(path.substr(embedded_prefix.size())), std::string(text)});
  }
  return files;
}

}  // namespace claimcheck

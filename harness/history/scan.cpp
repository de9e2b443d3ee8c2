#include "harness/history/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/error.h"
#include "harness/report/sanitise.h"

namespace claimcheck::history {
namespace {

namespace fs = std::filesystem;

bool is_result(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("result") && name.ends_with(".json");
}

std::vector<fs::path> files_below(const fs::path& directory, int depth, std::vector<Skipped>& skipped) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && at.depth() >= depth) at.disable_recursion_pending();
    if (!at->is_regular_file(ignored) || !is_result(at->path())) continue;
    if (files.size() == most_results) {
      throw UserError(fmt::format("{}: more than {} results; give a folder further down, or a smaller --depth",
                                  sanitised_text(directory.string()), most_results));
    }
    files.push_back(at->path());
  }
  if (error) skipped.push_back({sanitised_text(directory.string()), "not read to its end: " + error.message()});
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Found scan(const fs::path& directory, int depth) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw UserError(fmt::format("{}: no such directory", sanitised_text(directory.string())));
  }
  Found found;
  for (const fs::path& file : files_below(directory, depth, found.skipped)) {
    const std::string name = sanitised_text(file.lexically_relative(directory).string());
    try {
      Stored stored{name, sanitised(read_document(file))};
      stored.document.findings.clear();  // of hundreds of results only the figures are needed
      stored.document.verdicts.clear();
      stored.document.cost = nullptr;
      for (Measurement& measurement : stored.document.measurements) measurement.evidence = nlohmann::json::object();
      found.results.push_back(std::move(stored));
    } catch (const UserError& failure) {
      found.skipped.push_back({name, failure.what()});
    }
  }
  return found;
}

}  // namespace claimcheck::history

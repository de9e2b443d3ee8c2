// The results below a folder: files called result*.json, at most `depth` folders down, links to folders not followed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/history/history.h"

namespace claimcheck::history {

inline constexpr std::size_t most_results = 5000;

struct Found {
  std::vector<Stored> results;  // sanitised, by path
  std::vector<Skipped> skipped;
};

// A file that cannot be read costs itself only. Throws UserError when `directory` is none, or holds more than
// most_results.
Found scan(const std::filesystem::path& directory, int depth);

}  // namespace claimcheck::history

// Files carried inside the binary: catalog/**, results-schema/metrics.json, docs/metrics.md, docs/findings.md. Paths
// are relative to the project ("catalog/prices/aws.csv").
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

std::optional<std::string_view> embedded_file(std::string_view path);

// Path and text of every file below `prefix` ("catalog/"), sorted by path.
std::vector<std::pair<std::string_view, std::string_view>> embedded_files(std::string_view prefix);

}  // namespace claimcheck

// Versions of software as people and packages write them, compared by their meaning: "2.10" is above "2.9", "2.4"
// equals "2.4.0", "2.4.0rc1" is below "2.4.0"; what a distribution or a build adds ("+cu121", "-1ubuntu2", "1:") counts
// for nothing.
#pragma once

#include <string>
#include <string_view>

namespace claimcheck {

bool is_version(std::string_view text);  // begins with a digit, after an epoch or a 'v'

// Below, at or above 0. Texts that are no versions are below all that are.
int compare_versions(std::string_view left, std::string_view right);

// `found` against a claim "comparison claimed": ">=", "<=", or "==", which asks for as many parts as are claimed, so
// that 2.4.1 is "2.4".
bool version_meets(std::string_view found, std::string_view comparison, std::string_view claimed);

}  // namespace claimcheck

// What a worker's description says about the machine, in the `system` key of the result.
#pragma once

#include <nlohmann/json.hpp>

namespace claimcheck {

// Takes devices and software over from --describe. Serial numbers and UUIDs are hashed unless `keep_identifiers`.
// Whether this changed which devices there are (by name, number and what was left out).
bool take_description(nlohmann::json& system, const nlohmann::json& description, bool keep_identifiers);

}  // namespace claimcheck

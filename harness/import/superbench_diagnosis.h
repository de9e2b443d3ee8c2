// One node of `sb result diagnosis`: what its rules found, in words.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/import/collected.h"

namespace claimcheck::importing {

// False when the object is none.
bool superbench_diagnosis(Collected& collected, const nlohmann::json& value);

}  // namespace claimcheck::importing

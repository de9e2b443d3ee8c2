// Facts of devices and libraries as JSON: an unknown fact is null, never 0.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "kernels/device.h"

namespace claimcheck::bench {

nlohmann::json to_json(const kernels::Fact& fact);
nlohmann::json to_json(const kernels::Facts& facts);  // an object

// The fact of this name; unknown when there is none.
kernels::Fact fact_of(const kernels::Facts& facts, std::string_view name);

}  // namespace claimcheck::bench

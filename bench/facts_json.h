// Facts of devices and libraries as JSON: an unknown fact is null, never 0.
#pragma once

#include <nlohmann/json.hpp>

#include "kernels/device.h"

namespace claimcheck::bench {

nlohmann::json to_json(const kernels::Fact& fact);
nlohmann::json to_json(const kernels::Facts& facts);  // an object

}  // namespace claimcheck::bench

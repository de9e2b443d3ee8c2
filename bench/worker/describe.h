// What can be measured here, as the document of --describe (docs/architecture.md).
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bench/worker/registry.h"

namespace claimcheck::bench {

// Of all processes: called by all of them.
nlohmann::json describe(kernels::Platform& platform, kernels::World& world, const std::vector<ListedCase>& cases);

bool is_virtual(kernels::Platform& platform);

}  // namespace claimcheck::bench

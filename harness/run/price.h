// What an hour of this machine costs, for the plan and the result: what the user says, else the catalog's line.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/catalog/catalog.h"
#include "harness/cost/price.h"
#include "harness/run/settings.h"

namespace claimcheck {

// {per_hour, currency, term, unit, source, as_of} or null. Throws UserError for a price that cannot be read.
// A price of `region` counts before one of elsewhere.
nlohmann::json price_of(const JudgeSettings& settings, const Platform* platform, const Catalog& catalog,
                        const std::string& region = "");

// "$2.45" for so many seconds at that price; empty without a price. A price per GPU counts for `devices`.
std::string cost_of(const nlohmann::json& price, double seconds, int devices);

}  // namespace claimcheck

// What is paid beside the machine: data kept and data sent out of the provider's network. Pure.
//
// Formulas
//   fee of a month    = sum over tiers of (GB in the tier x its price), after the free GB
//   fees per hour     = (storage fee + egress fee of a month) / hours of use in a month
//   cost per EFLOP    = (price per hour + fees per hour) / (useful TFLOPS x 3600 / 1e6)
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/catalog/catalog.h"
#include "harness/cost/price.h"

namespace claimcheck {

// Of one node and month; GB are 1e9 bytes.
struct Usage {
  double storage_gb = 0;
  double egress_gb = 0;
  double hours = 730;                   // in which the machine is used
  std::optional<double> storage_price;  // a GB and month, in `currency`: where the catalog has none
  std::optional<double> egress_price;   // a GB, likewise
  std::string currency = "USD";

  bool any() const { return storage_gb > 0 || egress_gb > 0; }
};

// Of a fee of the catalog; `gb` not negative.
double month_fee(const Fee& fee, double gb);

// The provider's fee of a kind ("storage", "egress"): that of `region` where there is one, else the first that names no
// region, else the first. nullptr when the catalog has none.
const Fee* fee_of(const Catalog& catalog, const std::string& provider, const std::string& kind,
                  const std::string& region);

// {per_hour, currency, storage_per_month, egress_per_month, missing[], source}: in `currency`; per_hour is null where a
// fee is missing, or in a currency without a rate. `missing` names the kinds.
nlohmann::json fees_json(const Catalog& catalog, const std::string& provider, const std::string& region,
                         const Usage& usage, const std::string& currency, const Rates& rates);

}  // namespace claimcheck

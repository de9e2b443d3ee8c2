// The prices the catalog has for a platform, brought to one unit: per node-hour, with the price per accelerator beside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/cost/price.h"

namespace claimcheck {

struct ListPrice {
  std::string term;     // on_demand, spot, reserved_1y, reserved_3y, monthly_prepaid
  std::string payment;  // of a reservation: no_upfront, partial_upfront, all_upfront; empty when not said
  std::string region;
  double per_node = 0;
  std::optional<double> per_gpu;  // unset without accelerators
  std::string currency;
  std::string as_of;  // ISO date; empty when undated
  std::string note;
  const Price* price = nullptr;
};

// The latest of each term, payment option and region, by term, then price. Prices per GPU or chip are multiplied by the
// platform's number of them, and count only where the node has no price of its own; monthly ones are divided by 730
// hours.
std::vector<ListPrice> list_prices(const Catalog& catalog, const Platform& platform);

// The cheapest of each term (whatever the payment option) and currency: of those in `region` where there are some. Of
// low confidence only where nothing better is known.
std::vector<ListPrice> cheapest_by_term(const std::vector<ListPrice>& prices, const std::string& region = "");

// "on demand", "reserved 1 y"; with a payment option "1 y all upfront".
std::string term_text(const std::string& term, const std::string& payment = "");

}  // namespace claimcheck

// Prices against their peers: the same accelerator and term per card, and the same instance and term in other regions.
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <unordered_map>

#include "harness/catalog/checks.h"
#include "harness/catalog/price_rules.h"

namespace claimcheck::catalog_checks {
namespace {

constexpr double same_within = 0.01;

void check_mark(const Price& price, const std::string& found, Problems& problems) {
  if (!found.empty() && !is_marked(price)) {
    refuse(problems, price.place,
           found + "; correct it, or say why in outlier (a real price) or unusable (not to be counted with)");
  }
  if (!price.outlier.empty() && !price.unusable.empty()) {
    refuse(problems, price.place, "both outlier and unusable; expected one of them");
  }
}

void check_two(const Price& a, const Price& b, Problems& problems) {
  // Two dates are a history; without them nothing says which price holds.
  if (a.as_of != b.as_of && !a.as_of.empty() && !b.as_of.empty()) return;
  if (a.as_of == b.as_of && a.sources == b.sources) {
    refuse(problems, b.place,
           fmt::format("the same price as {}: provider, instance, region, term, payment, unit, currency, "
                       "date and source",
                       a.place));
  } else if (a.per_hour && b.per_hour && std::abs(*a.per_hour - *b.per_hour) > same_within * *a.per_hour) {
    dispute(problems, b.place,
            fmt::format("{}:{} {} {}: {} here, {} at {}", b.provider, b.instance, b.region, b.term, *b.per_hour,
                        *a.per_hour, a.place));
  }
}

void check_same(const std::vector<Price>& prices, Problems& problems) {
  std::unordered_map<std::string, std::vector<const Price*>> same;
  for (const Price& price : prices) {
    std::vector<const Price*>& before = same[fmt::format("{}\n{}\n{}", term_key(price), price.region, price.currency)];
    for (const Price* other : before) check_two(*other, price, problems);
    before.push_back(&price);
  }
}

}  // namespace

void check_prices(const Catalog& catalog, Problems& problems) {
  std::vector<const Price*> prices;
  for (const Price& price : catalog.prices) prices.push_back(&price);
  const PriceRules rules(catalog, prices);
  for (const Price& price : catalog.prices) check_mark(price, rules.fault(price), problems);
  check_same(catalog.prices, problems);
}

void check_fees(const Catalog& catalog, Problems& problems) {
  std::set<std::string> providers;
  for (const Platform& platform : catalog.platforms) providers.insert(platform.provider);
  for (const Fee& fee : catalog.fees) {
    if (providers.count(fee.provider) == 0)
      refuse(problems, fee.place + "/provider",
             fmt::format("\"{}\" is no provider of a platform; expected one of {}", fee.provider,
                         fmt::join(providers, ", ")));
    // A GB and month of the dearest disk is far below a dollar, and so is a GB sent; above stands a wrong unit.
    for (const FeeTier& tier : fee.tiers)
      if (fee.currency == "USD" && tier.price > 1)
        refuse(problems, fee.place + "/tiers",
               fmt::format("{} USD a GB; expected at most 1: a price of a TB, or of a year?", tier.price));
  }
}

}  // namespace claimcheck::catalog_checks

// Prices held against their peers, fast enough for hundreds of thousands. The check of the catalog and the import rest
// on the same rules.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/catalog/catalog.h"

namespace claimcheck::catalog_checks {

// A price with a mark is kept, and nobody's peer.
bool is_marked(const Price& price);

// What one offer and term is told apart by: provider, instance, unit, payment and term. Regions and dates are of it.
std::string term_key(const Price& price);

class PriceRules {
 public:
  // The peers: those of `prices` without a mark. The catalog gives exchange rates. Both outlive this.
  PriceRules(const Catalog& catalog, const std::vector<const Price*>& prices);

  // What stands against a price, in one sentence; empty when nothing does. The price need not be one of the peers; when
  // it is (the same object), it is not its own peer.
  std::string fault(const Price& price) const;

  // A factor 5 off the median of the same accelerator and term per card, or of the same offer in other regions.
  std::string off_its_peers(const Price& price) const;
  // A spot price not below on demand, or at most a tenth of it.
  std::string off_on_demand(const Price& price) const;

 private:
  std::optional<double> per_unit(const Price& price) const;  // USD
  std::optional<double> per_card(const Price& price) const;
  std::string off_cards(const Price& price) const;
  std::string off_regions(const Price& price) const;
  const Price* on_demand_of(const Price& spot) const;

  const Catalog& catalog_;
  std::unordered_map<std::string, std::vector<double>> by_card_;  // sorted
  std::unordered_map<std::string, std::vector<std::pair<const std::string*, double>>> by_term_;
  std::unordered_map<std::string, std::vector<const Price*>> on_demand_;
  std::unordered_set<const Price*> members_;
};

}  // namespace claimcheck::catalog_checks

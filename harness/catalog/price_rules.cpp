#include "harness/catalog/price_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace claimcheck::catalog_checks {
namespace {

constexpr double factor = 5;          // an 8-GPU node quoted per GPU is 8 off, a bid floor of 10 % is 5 or more
constexpr double floor_share = 0.10;  // spot bid floors stand at exactly a tenth of on demand

std::string card_key(const Price& price) { return price.accelerator + "\n" + price.term; }
std::string on_demand_key(const Price& price) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", price.provider, price.instance, price.unit, price.region, price.currency);
}

double middle_of(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Empty when within the factor.
std::string against(double value, double middle, std::size_t count, const std::string& what) {
  const double ratio = value > middle ? value / middle : middle / value;
  if (ratio < factor) return "";
  return fmt::format("a factor {:.1f} {} its peers: {:.4g} USD per {} against a median of {:.4g} of {}", ratio,
                     value > middle ? "above" : "below", value, what, middle, count);
}

}  // namespace

bool is_marked(const Price& price) { return !price.outlier.empty() || !price.unusable.empty(); }

std::string term_key(const Price& price) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", price.provider, price.instance, price.unit, price.payment, price.term);
}

PriceRules::PriceRules(const Catalog& catalog, const std::vector<const Price*>& prices) : catalog_(catalog) {
  for (const Price* price : prices) {
    if (price->term == "on_demand" && price->per_hour) on_demand_[on_demand_key(*price)].push_back(price);
    if (is_marked(*price)) continue;  // nobody's peers: they would move the median they were marked against
    if (!price->accelerator.empty()) {
      if (const auto value = per_card(*price)) by_card_[card_key(*price)].push_back(*value);
    }
    if (const auto value = per_unit(*price)) by_term_[term_key(*price)].push_back({&price->region, *value});
    members_.insert(price);
  }
  for (auto& [key, values] : by_card_) std::sort(values.begin(), values.end());
}

std::optional<double> PriceRules::per_unit(const Price& price) const {
  const std::optional<double> rate = catalog_.per_usd(price.currency);
  return price.per_hour && rate ? std::optional(*price.per_hour / *rate) : std::nullopt;
}

std::optional<double> PriceRules::per_card(const Price& price) const {
  const std::optional<double> unit = per_unit(price);
  if (!unit || price.unit != "instance-hour") return unit;
  return price.accelerator_count.value_or(0) > 0 ? std::optional(*unit / *price.accelerator_count) : std::nullopt;
}

std::string PriceRules::off_cards(const Price& price) const {
  const std::optional<double> value = per_card(price);
  const auto found = by_card_.find(card_key(price));
  if (!value || price.accelerator.empty() || found == by_card_.end()) return "";
  const std::vector<double>* peers = &found->second;
  const std::size_t count = peers->size() - (members_.count(&price) > 0 ? 1 : 0);
  if (count == 0) return "";
  if (count == peers->size()) return against(*value, middle_of(*peers), count, "card-hour");
  // Its own value left out, without a copy: the elements behind it move up by one.
  const auto own = static_cast<std::size_t>(std::lower_bound(peers->begin(), peers->end(), *value) - peers->begin());
  const auto at = [&](std::size_t i) { return (*peers)[i < own ? i : i + 1]; };
  const double middle = count % 2 == 1 ? at(count / 2) : (at(count / 2 - 1) + at(count / 2)) / 2;
  return against(*value, middle, count, "card-hour");
}

std::string PriceRules::off_regions(const Price& price) const {
  const std::optional<double> value = per_unit(price);
  const auto found = by_term_.find(term_key(price));
  if (!value || found == by_term_.end()) return "";
  std::vector<double> others;
  for (const auto& [region, other] : found->second) {
    if (*region != price.region) others.push_back(other);
  }
  if (others.empty()) return "";
  std::sort(others.begin(), others.end());
  return against(*value, middle_of(others), others.size(), price.unit);
}

std::string PriceRules::off_its_peers(const Price& price) const {
  std::string found = off_cards(price);
  return found.empty() ? off_regions(price) : found;
}

// Of the spot price's own time: the newest that is not newer than it, else the oldest. An undated price counts as older
// than any date.
const Price* PriceRules::on_demand_of(const Price& spot) const {
  const auto found = on_demand_.find(on_demand_key(spot));
  if (found == on_demand_.end()) return nullptr;
  const Price* before = nullptr;
  const Price* oldest = nullptr;
  for (const Price* price : found->second) {
    if (oldest == nullptr || price->as_of < oldest->as_of) oldest = price;
    if (price->as_of <= spot.as_of && (before == nullptr || price->as_of > before->as_of)) before = price;
  }
  return before != nullptr ? before : oldest;
}

std::string PriceRules::off_on_demand(const Price& price) const {
  if (price.term != "spot" || !price.per_hour) return "";
  const Price* on_demand = on_demand_of(price);
  if (on_demand == nullptr) return "";
  const double share = *price.per_hour / *on_demand->per_hour;
  if (share >= 1) return fmt::format("spot {} is not below on demand {}", *price.per_hour, *on_demand->per_hour);
  if (share > floor_share) return "";
  return fmt::format("spot {} is at most a tenth of on demand {}: a bid floor, not a market price", *price.per_hour,
                     *on_demand->per_hour);
}

std::string PriceRules::fault(const Price& price) const {
  std::string found = off_its_peers(price);
  return found.empty() ? off_on_demand(price) : found;
}

}  // namespace claimcheck::catalog_checks

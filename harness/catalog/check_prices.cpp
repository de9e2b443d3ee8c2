// Prices against their peers: the same accelerator and term per card, and the same instance and term in other regions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/catalog/checks.h"

namespace claimcheck::catalog_checks {
namespace {

constexpr double factor = 5;          // an 8-GPU node quoted per GPU is 8 off, a bid floor of 10 % is 5 or more
constexpr double floor_share = 0.10;  // spot bid floors stand at exactly a tenth of on demand
constexpr double same_within = 0.01;

struct Entry {
  const Price* price = nullptr;
  std::optional<double> per_unit;  // USD
  std::optional<double> per_card;  // USD
};

Entry entry_of(const Catalog& catalog, const Price& price) {
  Entry entry{&price, std::nullopt, std::nullopt};
  const std::optional<double> rate = catalog.per_usd(price.currency);
  if (!price.per_hour || !rate) return entry;
  entry.per_unit = *price.per_hour / *rate;
  if (price.unit != "instance-hour") {
    entry.per_card = entry.per_unit;
  } else if (price.accelerator_count.value_or(0) > 0) {
    entry.per_card = *entry.per_unit / *price.accelerator_count;
  }
  return entry;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool same_offer(const Price& a, const Price& b) {
  return a.provider == b.provider && a.instance == b.instance && a.unit == b.unit;
}

// Marked prices are nobody's peers: they would move the median they were marked against.
template <typename IsPeer>
std::vector<double> peers(const std::vector<Entry>& entries, const Entry& one, std::optional<double> Entry::*value,
                          const IsPeer& is_peer) {
  std::vector<double> values;
  for (const Entry& other : entries) {
    const Price& price = *other.price;
    if (&other == &one || !price.outlier.empty() || !price.unusable.empty() || !(other.*value)) continue;
    if (price.term == one.price->term && is_peer(price)) values.push_back(*(other.*value));
  }
  return values;
}

// Empty when within the factor.
std::string against(double value, const std::vector<double>& others, const std::string& what) {
  if (others.empty()) return "";
  const double middle = median(others);
  const double ratio = value > middle ? value / middle : middle / value;
  if (ratio < factor) return "";
  return fmt::format("a factor {:.1f} {} its peers: {:.4g} USD per {} against a median of {:.4g} of {}", ratio,
                     value > middle ? "above" : "below", value, what, middle, others.size());
}

std::string off_its_peers(const std::vector<Entry>& entries, const Entry& one) {
  const Price& price = *one.price;
  std::string found;
  if (one.per_card && !price.accelerator.empty()) {
    found = against(*one.per_card,
                    peers(entries, one, &Entry::per_card,
                          [&](const Price& other) { return other.accelerator == price.accelerator; }),
                    "card-hour");
  }
  if (found.empty() && one.per_unit) {
    found = against(*one.per_unit,
                    peers(entries, one, &Entry::per_unit,
                          [&](const Price& other) { return same_offer(other, price) && other.region != price.region; }),
                    price.unit);
  }
  return found;
}

// The newest on-demand price of the same offer in the same region.
const Price* on_demand_of(const Catalog& catalog, const Price& spot) {
  const Price* newest = nullptr;
  for (const Price& price : catalog.prices) {
    if (price.term != "on_demand" || !price.per_hour || !same_offer(price, spot)) continue;
    if (price.region != spot.region || price.currency != spot.currency) continue;
    if (newest == nullptr || price.as_of > newest->as_of) newest = &price;
  }
  return newest;
}

std::string off_on_demand(const Catalog& catalog, const Price& price) {
  if (price.term != "spot" || !price.per_hour) return "";
  const Price* on_demand = on_demand_of(catalog, price);
  if (on_demand == nullptr) return "";
  const double share = *price.per_hour / *on_demand->per_hour;
  if (share >= 1) return fmt::format("spot {} is not below on demand {}", *price.per_hour, *on_demand->per_hour);
  if (share > floor_share) return "";
  return fmt::format("spot {} is at most a tenth of on demand {}: a bid floor, not a market price", *price.per_hour,
                     *on_demand->per_hour);
}

void check_mark(const Price& price, const std::string& found, Problems& problems) {
  const bool marked = !price.outlier.empty() || !price.unusable.empty();
  if (!found.empty() && !marked) {
    refuse(problems, price.place,
           found + "; correct it, or say why in outlier (a real price) or unusable (not to be counted with)");
  }
  if (!price.outlier.empty() && !price.unusable.empty()) {
    refuse(problems, price.place, "both outlier and unusable; expected one of them");
  }
}

void check_same(const std::vector<Entry>& entries, Problems& problems) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = i + 1; j < entries.size(); ++j) {
      const Price& a = *entries[i].price;
      const Price& b = *entries[j].price;
      if (!same_offer(a, b) || a.term != b.term || a.region != b.region || a.currency != b.currency) continue;
      // Two dates are a history; without them nothing says which price holds.
      if (a.as_of != b.as_of && !a.as_of.empty() && !b.as_of.empty()) continue;
      if (a.as_of == b.as_of && a.sources == b.sources) {
        refuse(problems, b.place,
               fmt::format("the same price as {}: provider, instance, region, term, unit, currency, "
                           "date and source",
                           a.place));
      } else if (a.per_hour && b.per_hour && std::abs(*a.per_hour - *b.per_hour) > same_within * *a.per_hour) {
        dispute(problems, b.place,
                fmt::format("{}:{} {} {}: {} here, {} at {}", b.provider, b.instance, b.region, b.term, *b.per_hour,
                            *a.per_hour, a.place));
      }
    }
  }
}

}  // namespace

void check_prices(const Catalog& catalog, Problems& problems) {
  std::vector<Entry> entries;
  for (const Price& price : catalog.prices) entries.push_back(entry_of(catalog, price));
  for (const Entry& entry : entries) {
    std::string found = off_its_peers(entries, entry);
    if (found.empty()) found = off_on_demand(catalog, *entry.price);
    check_mark(*entry.price, found, problems);
  }
  check_same(entries, problems);
}

}  // namespace claimcheck::catalog_checks

#include "harness/catalog/import/traps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace claimcheck::catalog_import {
namespace {

constexpr double bid_floor = 0.1;
constexpr double windows_per_vcpu = 0.046;  // an hour, US dollars: 9.554 = 7.346 + 48 x 0.046
constexpr double rounding = 0.0011;         // Azure rounds to three decimals
constexpr double least_of_family = 0.75;

class Traps {
 public:
  Traps(Collected& collected, const Catalog& catalog) : collected_(collected) {
    for (const Price& price : catalog.prices) {
      if (price.provider != "azure" || price.term != "on_demand" || !price.per_hour) continue;
      azure_[price.instance + "\n" + price.region].push_back(*price.per_hour);
    }
  }

  void refuse() {
    std::vector<CellKey> keys;
    for (const auto& [key, cell] : collected_.cells) keys.push_back(key);
    for (const CellKey& key : keys) {
      if (key.term == Term::spot) spot(key);
    }
    for (const CellKey& key : keys) {
      if (machine(key).provider == "azure" && key.term == Term::on_demand) windows(key);
    }
    halved(keys);
  }

 private:
  const Machine& machine(const CellKey& key) const { return collected_.machines[key.machine]; }
  const std::string& region(const CellKey& key) const { return collected_.regions[key.region]; }

  Cell* find(const CellKey& key) {
    const auto found = collected_.cells.find(key);
    return found == collected_.cells.end() ? nullptr : &found->second;
  }

  void refuse(const CellKey& key, std::string_view reason, const Cell& cell, double amount) {
    collected_.refuse(reason, cell.place,
                      fmt::format("{}:{} {} {} {}", machine(key).provider, machine(key).instance, region(key),
                                  term_names[static_cast<std::size_t>(key.term)], amount));
  }

  void spot(const CellKey& key) {
    CellKey other = key;
    other.term = Term::on_demand;
    const Cell* on_demand = find(other);
    const Cell cell = *find(key);
    if (on_demand == nullptr) return;
    const bool cap = cell.low >= on_demand->low;
    const bool floor = std::abs(cell.low - bid_floor * on_demand->low) < 1e-4 * cell.low;
    if (!cap && !floor) return;
    refuse(key,
           cap ? "the spot price is not below on demand: a cap, not a market price"
               : "the spot price is exactly a tenth of on demand: a bid floor, not a market price",
           cell, cell.low);
    collected_.cells.erase(key);
  }

  // Whether the catalog has this price of the machine and region.
  bool catalog_has(const CellKey& key, double amount) const {
    const auto found = azure_.find(machine(key).instance + "\n" + region(key));
    return found != azure_.end() && std::any_of(found->second.begin(), found->second.end(),
                                                [&](double price) { return std::abs(price - amount) < rounding; });
  }

  void windows(const CellKey& key) {
    constexpr std::string_view reason = "the price is that of Linux plus 0.046 a vCPU: a meter of Windows";
    const Platform* platform = machine(key).platform;
    if (platform == nullptr || !platform->vcpus) return;
    Cell& cell = *find(key);
    const double licence = windows_per_vcpu * *platform->vcpus;
    if (std::abs(cell.high - cell.low - licence) < rounding) {
      refuse(key, reason, cell, cell.high);
      cell.high = cell.low;
    }
    if (!catalog_has(key, cell.low - licence)) return;
    refuse(key, reason, cell, cell.low);
    collected_.cells.erase(key);
  }

  // "ecs.gn6v-c8g1.8xlarge" is of the family "ecs.gn6v-c8g1": the same hosts and cards, more of them.
  void halved(const std::vector<CellKey>& keys) {
    std::map<std::string, std::vector<CellKey>> families;
    for (const CellKey& key : keys) {
      const Machine& one = machine(key);
      if (one.provider != "alibaba" || key.term != Term::on_demand || one.count <= 0 || find(key) == nullptr) continue;
      families[fmt::format("{}\n{}\n{}", key.feed, region(key), one.instance.substr(0, one.instance.rfind('.')))]
          .push_back(key);
    }
    for (const auto& [family, sizes] : families) {
      if (sizes.size() < 3) continue;  // of two, nothing says which is wrong
      std::vector<double> per_card;
      for (const CellKey& key : sizes) per_card.push_back(find(key)->low / machine(key).count);
      std::sort(per_card.begin(), per_card.end());
      const double middle = per_card[per_card.size() / 2];
      for (const CellKey& key : sizes) {
        const Cell cell = *find(key);
        if (cell.low / machine(key).count >= least_of_family * middle) continue;
        refuse(key, "the price of a card is under three quarters of other sizes of the family", cell, cell.low);
        collected_.cells.erase(key);
      }
    }
  }

  Collected& collected_;
  std::unordered_map<std::string, std::vector<double>> azure_;  // the catalog's, by instance and region
};

}  // namespace

void refuse_traps(Collected& collected, const Catalog& catalog) { Traps(collected, catalog).refuse(); }

}  // namespace claimcheck::catalog_import

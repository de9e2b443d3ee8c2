#include "harness/catalog/import/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <tuple>

#include "harness/catalog/price_rules.h"
#include "harness/cost/price.h"

namespace claimcheck::catalog_import {
namespace {

constexpr double same_within = 1e-6;  // sources round
constexpr int most_rounds = 20;

enum class Verdict { added, changed, confirmed, replaced, kept };

// Lines of the catalog, then of the import.
struct Row {
  Price price;
  bool imported = false;
  bool gone = false;
  Place place;
  Verdict verdict = Verdict::added;
  std::string why;
  const Row* before = nullptr;
  std::vector<Row*> removed;  // lines that this one takes the place of
};

// Below 0: `a` is older. An undated price is older than any with a date.
int compare_dates(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return (a.empty() ? 0 : 1) - (b.empty() ? 0 : 1);
  return -days_between(a, b).value_or(0);
}

std::string offer_key(const Price& price) {
  return fmt::format("{}\n{}\n{}", catalog_checks::term_key(price), price.region, price.currency);
}

// A price that nobody knows yet stands for all payment options.
std::string unknown_key(const Price& price) {
  return fmt::format("{}\n{}\n{}\n{}", price.provider, price.instance, price.term, price.region);
}

auto order_of(const Price& price) {
  const auto term = std::find(term_names.begin(), term_names.end(), price.term) - term_names.begin();
  return std::tuple(std::string_view(price.provider), std::string_view(price.instance), term,
                    std::string_view(price.payment), std::string_view(price.region), std::string_view(price.as_of));
}

class Merger {
 public:
  Merger(const Catalog& catalog, Collected& collected, const std::vector<std::string>& replace)
      : catalog_(catalog), collected_(collected), replace_(replace) {
    for (const Price& price : catalog.prices) {
      rows_.push_back({price, false, false, {}, Verdict::kept, "", nullptr, {}});
      Row& row = rows_.back();
      if (!price.per_hour) {
        if (!price.per_month) unknown_[unknown_key(price)].push_back(&row);
      } else if (price.unusable.empty()) {
        by_offer_[offer_key(price)].push_back(&row);
      }
    }
  }

  Merged merge() {
    join_all();
    refuse_faults();
    return result();
  }

 private:
  // Older lists first, so that newer ones find them; lists of one day in the order of their names.
  void join_all() {
    std::vector<std::pair<CellKey, Price>> prices;
    prices.reserve(collected_.cells.size());
    for (const auto& [key, cell] : collected_.cells) prices.emplace_back(key, price_of(key, cell));
    std::sort(prices.begin(), prices.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.second.as_of, a.second.sources, order_of(a.second)) <
             std::tuple(b.second.as_of, b.second.sources, order_of(b.second));
    });
    std::vector<const Price*> own;
    for (const Price& price : catalog_.prices) own.push_back(&price);
    const catalog_checks::PriceRules rules(catalog_, own);
    for (auto& [key, price] : prices) {
      const Place place = collected_.cells.at(key).place;
      const std::string fault = rules.off_its_peers(price);
      if (fault.empty()) {
        join(std::move(price), place);
      } else {
        refuse("far from its peers in the catalog: per GPU against per node, another currency, or a bid floor?", price,
               place, fault);
      }
    }
  }

  Price price_of(const CellKey& key, const Cell& cell) const {
    const Machine& machine = collected_.machines[key.machine];
    const Feed& feed = collected_.feeds[key.feed];
    constexpr double decimals = 1e6;
    Price price;
    price.provider = machine.provider;
    price.instance = machine.instance;
    price.region = collected_.regions[key.region];
    price.term = term_names[static_cast<std::size_t>(key.term)];
    price.payment = payment_names[static_cast<std::size_t>(key.payment)];
    price.per_hour = std::max(std::round(cell.low * decimals) / decimals, 1 / decimals);
    price.currency = currency_of(machine.provider, price.region);
    price.unit = machine.per_chip ? "chip-hour" : "instance-hour";
    price.as_of = feed.as_of;
    const bool marketplace = machine.provider == "vast";
    price.confidence = marketplace ? "low" : key.term == Term::spot ? "medium" : feed.confidence;
    price.accelerator = machine.accelerator;
    if (machine.count > 0) price.accelerator_count = machine.count;
    if (marketplace) price.note = "The cheapest offer of a marketplace when the list was made.";
    if (cell.high > cell.low * 1.0001) {
      price.note += fmt::format("{}The lowest of several zones or offers; the highest is {:.6g}.",
                                price.note.empty() ? "" : " ", cell.high);
    }
    price.sources = {source_id(feed)};
    return price;
  }

  bool replaces(const Price& price) const {
    return std::any_of(replace_.begin(), replace_.end(), [&](const std::string& pattern) {
      return fits_pattern(price.provider + ":" + price.instance, pattern);
    });
  }

  Row* newest(const std::vector<Row*>& rows) const {
    Row* found = nullptr;
    for (Row* row : rows) {
      if (row->gone) continue;
      if (found == nullptr || compare_dates(row->price.as_of, found->price.as_of) > 0) found = row;
    }
    return found;
  }

  void join(Price price, const Place& place) {
    std::vector<Row*>& same = by_offer_[offer_key(price)];
    Row row{std::move(price), true, false, place, Verdict::added, "", nullptr, {}};
    if (const Row* before = newest(same)) {
      row.before = before;
      const double old = *before->price.per_hour;
      const bool equal = std::abs(*row.price.per_hour - old) <= same_within * old;
      const int age = compare_dates(row.price.as_of, before->price.as_of);
      if (!equal && replaces(row.price)) {
        row.verdict = Verdict::replaced;
        for (Row* other : same) {
          if (!other->gone) row.removed.push_back(other);
        }
      } else if (age > 0) {
        row.verdict = equal ? Verdict::confirmed : Verdict::changed;
      } else {
        row.verdict = Verdict::kept;
        row.why = equal ? "the catalog has this price" : age < 0 ? "the catalog's is newer" : disputed(row.price);
      }
    } else {
      for (Row* unknown : unknown_[unknown_key(row.price)]) {
        if (!unknown->gone) row.removed.push_back(unknown);
      }
    }
    for (Row* other : row.removed) other->gone = true;
    rows_.push_back(std::move(row));
    if (rows_.back().verdict == Verdict::kept) {
      rows_.back().gone = true;
    } else {
      same.push_back(&rows_.back());
    }
  }

  static std::string disputed(const Price& price) {
    return price.as_of.empty() ? "neither has a date, so nothing says which holds (--as-of, or --replace)"
                               : "both are of the same day (--replace takes this one)";
  }

  void refuse(std::string_view reason, const Price& price, const Place& place, const std::string& detail) {
    collected_.refuse(reason, place,
                      fmt::format("{}:{} {} {} {} ({})", price.provider, price.instance, price.region, price.term,
                                  *price.per_hour, detail));
  }

  std::vector<std::pair<Row*, std::string>> faults() {
    std::vector<const Price*> live;
    for (const Row& row : rows_) {
      if (!row.gone) live.push_back(&row.price);
    }
    const catalog_checks::PriceRules rules(catalog_, live);
    std::vector<std::pair<Row*, std::string>> found;
    for (Row& row : rows_) {
      if (row.gone || catalog_checks::is_marked(row.price)) continue;
      std::string fault = rules.fault(row.price);
      if (!fault.empty()) found.emplace_back(&row, std::move(fault));
    }
    return found;
  }

  void take_out(Row& row, std::string_view reason, const std::string& detail) {
    row.gone = true;
    for (Row* other : row.removed) other->gone = false;
    refuse(reason, row.price, row.place, detail);
    row.why = "refused";
  }

  // Until the whole catalog passes its own check. Prices it had before are never the ones to go: where new ones move
  // the median away from them, the new ones are refused.
  void refuse_faults() {
    const std::set<const Row*> from_the_start = own_faults();
    for (int round = 0; round < most_rounds; ++round) {
      const auto found = faults();
      bool any = false;
      for (const auto& [row, fault] : found) {
        if (!row->imported) continue;
        take_out(*row, "at odds with the other prices", fault);
        any = true;
      }
      if (any) continue;
      for (const auto& [row, fault] : found) {
        if (!row->imported && from_the_start.count(row) == 0) any = take_out_neighbours(*row, fault) || any;
      }
      if (!any) return;
    }
    for (Row& row : rows_) {
      if (row.imported && !row.gone)
        take_out(row, "at odds with the other prices", "no choice of them passes the check");
    }
  }

  std::set<const Row*> own_faults() {
    std::vector<const Price*> own;
    for (const Row& row : rows_) {
      if (!row.imported) own.push_back(&row.price);
    }
    const catalog_checks::PriceRules rules(catalog_, own);
    std::set<const Row*> found;
    for (const Row& row : rows_) {
      if (!row.imported && !catalog_checks::is_marked(row.price) && !rules.fault(row.price).empty()) found.insert(&row);
    }
    return found;
  }

  bool take_out_neighbours(const Row& own, const std::string& fault) {
    bool any = false;
    for (Row& row : rows_) {
      if (!row.imported || row.gone) continue;
      const bool same_card = row.price.term == own.price.term && row.price.accelerator == own.price.accelerator;
      const bool same_machine = row.price.provider == own.price.provider && row.price.instance == own.price.instance;
      if (!same_card && !same_machine) continue;
      take_out(row, "would put a price that the catalog has at odds with the others", fault);
      any = true;
    }
    return any;
  }

  Merged result() {
    Merged merged;
    for (Row& row : rows_) {
      if (!row.imported) {
        if (row.gone) merged.gone.push_back(row.price.place);
        continue;
      }
      if (row.gone && row.verdict != Verdict::kept) continue;
      Joined joined{row.price, row.place, std::nullopt, row.why};
      if (row.before != nullptr) joined.before = row.before->price;
      list_of(merged, row.verdict).push_back(std::move(joined));
    }
    for (auto* list : {&merged.added, &merged.changed, &merged.confirmed, &merged.replaced, &merged.kept}) {
      std::sort(list->begin(), list->end(), [](const Joined& a, const Joined& b) {
        return std::tuple(order_of(a.price), a.price.sources) < std::tuple(order_of(b.price), b.price.sources);
      });
    }
    std::sort(merged.gone.begin(), merged.gone.end());
    return merged;
  }

  static std::vector<Joined>& list_of(Merged& merged, Verdict verdict) {
    switch (verdict) {
      case Verdict::added:
        return merged.added;
      case Verdict::changed:
        return merged.changed;
      case Verdict::confirmed:
        return merged.confirmed;
      case Verdict::replaced:
        return merged.replaced;
      case Verdict::kept:
        break;
    }
    return merged.kept;
  }

  const Catalog& catalog_;
  Collected& collected_;
  const std::vector<std::string>& replace_;
  std::deque<Row> rows_;  // they point at each other
  std::unordered_map<std::string, std::vector<Row*>> by_offer_;
  std::unordered_map<std::string, std::vector<Row*>> unknown_;
};

}  // namespace

std::string source_id(const Feed& feed) {
  return fmt::format("import-{}-{}-{}", feed.format, feed.provider, feed.as_of.empty() ? "undated" : feed.as_of);
}

bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t mark = 0;
  std::size_t star = std::string_view::npos;
  std::size_t p = 0;
  while (at < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = at;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[at])) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos) {  // the star takes one character more
      p = star + 1;
      at = ++mark;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Merged merge(const Catalog& catalog, Collected& collected, const std::vector<std::string>& replace) {
  return Merger(catalog, collected, replace).merge();
}

}  // namespace claimcheck::catalog_import

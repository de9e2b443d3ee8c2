#include "harness/cost/list_price.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace claimcheck {
namespace {

constexpr double hours_per_month = 730;  // how providers convert a monthly price

bool per_accelerator(const Price& price) { return price.unit != "instance-hour" && price.unit != "node-hour"; }

std::optional<ListPrice> listed(const Price& price, const Platform& platform) {
  std::optional<double> amount = price.per_hour;
  if (!amount && price.per_month) amount = *price.per_month / hours_per_month;
  if (!amount || *amount <= 0 || !price.unusable.empty()) return std::nullopt;
  const int count = platform.accelerator_count.value_or(0);
  ListPrice found;
  if (per_accelerator(price)) {
    if (count <= 0) return std::nullopt;
    found.per_node = *amount * count;
  } else {
    found.per_node = *amount;
  }
  if (count > 0) found.per_gpu = found.per_node / count;
  found.term = price.term;
  found.payment = price.payment;
  found.region = price.region;
  found.currency = price.currency;
  found.as_of = price.as_of;
  found.note = price.outlier.empty() ? price.note : price.outlier;
  found.price = &price;
  return found;
}

// Newer first; undated ones last, since nobody knows how old they are.
bool newer(const ListPrice& a, const ListPrice& b) {
  const auto age = days_between(a.as_of, b.as_of);
  if (age) return *age < 0;
  return !a.as_of.empty() && b.as_of.empty();
}

int term_order(const std::string& term) {
  const char* const order[] = {"on_demand", "spot", "reserved_1y", "reserved_3y"};
  for (int i = 0; i < 4; ++i) {
    if (term == order[i]) return i;
  }
  return 4;
}

bool low_confidence(const ListPrice& price) { return price.price->confidence == "low"; }

}  // namespace

std::vector<ListPrice> list_prices(const Catalog& catalog, const Platform& platform) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, bool>, ListPrice> latest;
  for (const Price* price : catalog.prices_of(platform)) {
    const auto found = listed(*price, platform);
    if (!found) continue;
    const auto key = std::tuple{found->term, found->payment, found->region, found->currency, per_accelerator(*price)};
    const auto [place, added] = latest.emplace(key, *found);
    if (!added && newer(*found, place->second)) place->second = *found;
  }
  std::vector<ListPrice> prices;
  for (const auto& entry : latest) {
    const bool own = std::any_of(latest.begin(), latest.end(), [&](const auto& other) {
      return other.second.term == entry.second.term && !std::get<4>(other.first);
    });
    if (!own || !std::get<4>(entry.first)) prices.push_back(entry.second);
  }
  std::sort(prices.begin(), prices.end(), [](const ListPrice& a, const ListPrice& b) {
    return std::tuple{term_order(a.term), a.term, a.per_node, a.region, a.payment} <
           std::tuple{term_order(b.term), b.term, b.per_node, b.region, b.payment};
  });
  return prices;
}

std::vector<ListPrice> cheapest_by_term(const std::vector<ListPrice>& prices, const std::string& region) {
  std::vector<ListPrice> cheapest;
  const auto better = [&](const ListPrice& a, const ListPrice& b) {
    return std::tuple{low_confidence(a), a.region != region, a.per_node} <
           std::tuple{low_confidence(b), b.region != region, b.per_node};
  };
  for (const ListPrice& price : prices) {
    const auto same = std::find_if(cheapest.begin(), cheapest.end(), [&](const ListPrice& other) {
      return other.term == price.term && other.currency == price.currency;
    });
    if (same == cheapest.end()) {
      cheapest.push_back(price);
    } else if (better(price, *same)) {
      *same = price;
    }
  }
  return cheapest;
}

std::string term_text(const std::string& term, const std::string& payment) {
  if (!payment.empty()) {
    const std::string years = term == "reserved_3y" ? "3 y " : "1 y ";
    return years + (payment == "no_upfront" ? "no" : payment == "all_upfront" ? "all" : "part") + " upfront";
  }
  if (term == "quoted") return "as quoted";
  if (term == "reserved_1y") return "reserved 1 y";
  if (term == "reserved_3y") return "reserved 3 y";
  std::string text = term;
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace claimcheck

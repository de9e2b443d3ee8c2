// Prices of an hour, exchanged, dated and turned into rows.
#include <fmt/format.h>

#include <chrono>

#include "harness/cost/rows.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr int stale_days = 90;

std::string clock_date() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

}  // namespace

Pricing::Pricing(const Catalog& catalog, const CostOptions& options)
    : catalog_(catalog), options_(options), today_(options.today.empty() ? clock_date() : options.today) {
  for (const Currency& currency : catalog.currencies) {
    if (!currency.date.empty()) rates_[currency.code] = currency.per_usd;  // an undated rate is no rate
  }
  for (const auto& [currency, rate] : options.rates) rates_[currency] = rate;
}

HourPrice Pricing::of_list(const ListPrice& list) const {
  HourPrice price;
  price.per_node = list.per_node;
  price.per_gpu = list.per_gpu;
  price.currency = list.currency;
  price.term = list.term;
  price.payment = list.payment;
  price.region = list.region;
  price.as_of = list.as_of;
  price.note = list.note;
  if (!list.price->sources.empty()) {
    const auto source = catalog_.sources.find(list.price->sources.front());
    price.source = source == catalog_.sources.end() ? list.price->sources.front() : source->second.title;
  }
  return price;
}

std::optional<HourPrice> Pricing::of_quote(const Quote& quote, int accelerators, std::string& why) const {
  HourPrice price;
  price.currency = quote.currency;
  price.term = options_.term.empty() ? "quoted" : options_.term;
  price.source = "--price";
  if (quote.unit == PricedUnit::gpu_hour) {
    if (accelerators <= 0) {
      why = "the price is per GPU-hour, and the number of GPUs is unknown: give --instance, or a price per node-hour";
      return std::nullopt;
    }
    price.per_node = quote.amount * accelerators;
    price.per_gpu = quote.amount;
  } else {
    price.per_node = quote.amount;
    if (accelerators > 0) price.per_gpu = quote.amount / accelerators;
  }
  return price;
}

json Pricing::row(const HourPrice& price, std::optional<double> useful_tflops, const std::string& provider) const {
  const auto exchanged = exchange(price.per_node, price.currency, options_.currency, rates_);
  const double factor = exchanged && price.per_node > 0 ? *exchanged / price.per_node : 1;
  const bool converted = exchanged.has_value();
  json row = {{"term", price.term},
              {"payment", or_null(price.payment)},
              {"region", or_null(price.region)},
              {"per_hour", price.per_node * factor},
              {"per_gpu_hour", price.per_gpu ? json(*price.per_gpu * factor) : json(nullptr)},
              {"currency", converted ? options_.currency : price.currency},
              {"converted", converted},
              {"useful_tflops", useful_tflops ? json(*useful_tflops) : json(nullptr)},
              {"per_eflop", nullptr},
              {"note", price.note}};
  std::optional<double> fees = 0.0;
  if (options_.usage.any()) {
    row["fees"] = fees_json(catalog_, provider, price.region, options_.usage, row["currency"], rates_);
    fees = row["fees"]["per_hour"].is_number() ? std::optional(row["fees"]["per_hour"].get<double>()) : std::nullopt;
  }
  if (useful_tflops && *useful_tflops > 0 && fees) {
    row["per_eflop"] = dollars_per_eflop(price.per_node * factor + *fees, *useful_tflops);
  }
  const std::optional<int> age = days_between(price.as_of, today_);
  const bool stale = age.value_or(stale_days + 1) > stale_days;  // nobody knows how old an undated price is
  const bool quoted = price.source == "--price";
  row["price"] = {{"per_hour", price.per_node},
                  {"currency", price.currency},
                  {"source", price.source},
                  {"as_of", or_null(price.as_of)},
                  {"age_days", age ? json(*age) : json(nullptr)},
                  {"stale", stale && !quoted}};
  return row;
}

}  // namespace claimcheck

// Prices as people quote them, and money over a term. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace claimcheck {

enum class PricedUnit { node_hour, gpu_hour };

struct Quote {
  double amount = 0;
  std::string currency;  // ISO code
  PricedUnit unit = PricedUnit::node_hour;
};

// "2.49/gpu-hour", "98.32/node-hour", "$2.49/gpu-h", "¥28/hour", "28 CNY", "1,234.50". Without a unit: per node-hour.
// A symbol or code in the text wins over `currency`; "¥" is CNY unless `currency` is JPY.
// Throws UserError naming what was read and what was expected.
Quote parse_price(std::string_view text, const std::string& currency = "USD");

// Units of a currency per US dollar: {"CNY": 7.1}. USD is always 1.
using Rates = std::map<std::string, double>;

// "CNY=7.1" into `rates`. Throws UserError.
void add_rate(Rates& rates, std::string_view text);

// Unset when a rate is missing.
std::optional<double> exchange(double amount, const std::string& from, const std::string& to, const Rates& rates);

// A payment at the start spread over every hour of the term: hourly + upfront / (years x 24 x 365). What a reservation
// costs an hour, used or not.
double effective_hourly(double upfront, double hourly, double years);

// Total against total over the term (facts F1 to F3): hours = years x 24 x 365, reserved pays every hour.
struct TermComparison {
  double on_demand_total = 0;
  double reserved_total = 0;
  double saving = 0;                  // 1 - reserved / on demand; 0.571 is 57.1 %, whatever the years
  double break_even_utilisation = 0;  // reserved / on demand: below it on demand is cheaper
};

TermComparison compare_terms(double on_demand_per_hour, double reserved_per_hour, double years);

// Days from ISO date `from` ("2026-07-20", "2025-05", "2024": the first day they can mean counts) to `to`.
// Unset when either is not a date.
std::optional<int> days_between(std::string_view from, std::string_view to);

}  // namespace claimcheck

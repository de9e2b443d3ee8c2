// Reserved against on demand, total against total.
#include <fmt/format.h>

#include "harness/cost/cost.h"
#include "harness/cost/money.h"
#include "harness/error.h"
#include "harness/judge/number.h"

namespace claimcheck {

using nlohmann::json;

json terms_json(const Quote& on_demand, const Quote& reserved, double years, double upfront) {
  if (on_demand.currency != reserved.currency || on_demand.unit != reserved.unit) {
    throw UserError(
        "--on-demand and --reserved: expected the same currency and unit (both per node-hour or both per "
        "GPU-hour)");
  }
  if (!(on_demand.amount > 0)) throw UserError("--on-demand: expected a price above 0");
  if (!(years > 0)) throw UserError("--years: expected a number above 0");
  const double effective = effective_hourly(upfront, reserved.amount, years);
  const TermComparison comparison = compare_terms(on_demand.amount, effective, years);
  return {{"on_demand_per_hour", on_demand.amount},
          {"reserved_per_hour", effective},
          {"upfront", upfront},
          {"unit", on_demand.unit == PricedUnit::gpu_hour ? "gpu-hour" : "node-hour"},
          {"currency", on_demand.currency},
          {"years", years},
          {"hours", years * 24 * 365},
          {"on_demand_total", comparison.on_demand_total},
          {"reserved_total", comparison.reserved_total},
          {"saving", comparison.saving},
          {"break_even_utilisation", comparison.break_even_utilisation}};
}

std::string terms_text(const json& terms) {
  const std::string currency = terms.at("currency");
  const double saving = terms.at("saving");
  const double even = terms.at("break_even_utilisation");
  const auto line = [&](const char* name, const char* hourly, const char* total) {
    return fmt::format(" {:<10}  {:>14} an hour  {:>16} over {} years ({:.0f} hours)\n", name,
                       price_text(terms.at(hourly), currency), total_text(terms.at(total), currency),
                       exact_text(terms.at("years")), terms.at("hours").get<double>());
  };
  std::string text = "TERMS     total against total, every hour paid\n";
  text += line("on demand", "on_demand_per_hour", "on_demand_total");
  text += line("reserved", "reserved_per_hour", "reserved_total");
  if (terms.at("upfront") > 0) {
    text += fmt::format(" reserved: {} paid upfront is spread over the hours of the term\n",
                        total_text(terms.at("upfront"), currency));
  }
  if (saving >= 0) {
    text += fmt::format(" reserved saves {} of an on-demand machine that never stops\n", share_text(saving));
  } else {
    text += fmt::format(" reserved costs {} more than on demand\n", share_text(-saving));
  }
  if (even < 1) {
    text += fmt::format(" break-even: below {} utilisation on demand is cheaper\n", share_text(even));
  } else {
    text += " break-even: on demand is never dearer\n";
  }
  return text;
}

}  // namespace claimcheck

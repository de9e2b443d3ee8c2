#include "harness/run/price.h"

#include <fmt/format.h>

#include "harness/cost/list_price.h"

namespace claimcheck {

nlohmann::json price_of(const JudgeSettings& settings, const Platform* platform, const Catalog& catalog,
                        const std::string& region) {
  const std::string term = settings.term.empty() ? "on_demand" : settings.term;
  if (!settings.price.empty()) {
    const Quote quote = parse_price(settings.price, settings.currency.empty() ? "USD" : settings.currency);
    return {{"per_hour", quote.amount},
            {"currency", quote.currency},
            {"term", term},
            {"unit", quote.unit == PricedUnit::gpu_hour ? "gpu-hour" : "node-hour"},
            {"source", "--price"},
            {"as_of", nullptr}};
  }
  if (platform == nullptr) return nullptr;
  // The same line `claimcheck cost` takes: of each region its latest, then this region before others.
  const std::vector<ListPrice> cheapest = cheapest_by_term(list_prices(catalog, *platform), region);
  const std::string wanted = settings.currency.empty() ? "USD" : settings.currency;
  const ListPrice* chosen = nullptr;
  for (const ListPrice& price : cheapest) {
    if (price.term == term && (chosen == nullptr || price.currency == wanted)) chosen = &price;
  }
  if (chosen == nullptr) return nullptr;
  return {{"per_hour", chosen->per_node},
          {"currency", chosen->currency},
          {"term", term},
          {"unit", "node-hour"},
          {"source", fmt::format("catalog {} ({})", chosen->price->place, chosen->region)},
          {"as_of", chosen->as_of.empty() ? nlohmann::json(nullptr) : nlohmann::json(chosen->as_of)}};
}

std::string cost_of(const nlohmann::json& price, double seconds, int devices) {
  if (!price.is_object()) return {};
  const double units = price["unit"] == "node-hour" ? 1 : devices;
  const double amount = price["per_hour"].get<double>() * units * seconds / 3600;
  const std::string currency = price["currency"];
  const std::string number =
      amount >= 0.1 || amount == 0 ? fmt::format("{:.2f}", amount) : fmt::format("{:.4f}", amount);
  return currency == "USD" ? "$" + number : number + " " + currency;
}

}  // namespace claimcheck

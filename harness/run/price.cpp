#include "harness/run/price.h"

#include <fmt/format.h>

namespace claimcheck {

nlohmann::json price_of(const JudgeSettings& settings, const Platform* platform, const Catalog& catalog) {
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
  const Price* cheapest = nullptr;
  for (const Price* price : catalog.prices_of(*platform)) {
    if (price->term != term || !price->per_hour) continue;
    if (cheapest == nullptr || *price->per_hour < *cheapest->per_hour) cheapest = price;
  }
  if (cheapest == nullptr) return nullptr;
  return {{"per_hour", *cheapest->per_hour},
          {"currency", cheapest->currency},
          {"term", term},
          {"unit", cheapest->unit == "instance-hour" ? "node-hour" : cheapest->unit},
          {"source", fmt::format("catalog {} ({})", cheapest->place, cheapest->region)},
          {"as_of", cheapest->as_of.empty() ? nlohmann::json(nullptr) : nlohmann::json(cheapest->as_of)}};
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

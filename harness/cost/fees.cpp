#include "harness/cost/fees.h"

#include <fmt/format.h>

#include <algorithm>

namespace claimcheck {
namespace {

using nlohmann::json;

// One kind of fee of a month, in the currency asked for; unset when unknown.
struct Part {
  std::optional<double> amount;
  std::string source;
};

Part part(const Catalog& catalog, const std::string& provider, const std::string& region, const std::string& kind,
          double gb, const std::optional<double>& own, const Usage& usage, const std::string& currency,
          const Rates& rates) {
  if (!(gb > 0)) return {0.0, ""};
  if (const Fee* fee = fee_of(catalog, provider, kind, region)) {
    const auto source = catalog.sources.find(fee->sources.front());
    return {exchange(month_fee(*fee, gb), fee->currency, currency, rates),
            fmt::format("{}, {}: {}", fee->product, fee->date.empty() ? "undated" : fee->date,
                        source == catalog.sources.end() ? fee->sources.front() : source->second.title)};
  }
  if (own) return {exchange(*own * gb, usage.currency, currency, rates), fmt::format("--{}-price", kind)};
  return {};
}

}  // namespace

double month_fee(const Fee& fee, double gb) {
  double paid_from = fee.free_gb;
  double sum = 0;
  for (const FeeTier& tier : fee.tiers) {
    const double end = tier.up_to_gb ? std::min(gb, *tier.up_to_gb) : gb;
    if (end > paid_from) {
      sum += (end - paid_from) * tier.price;
      paid_from = end;
    }
  }
  // Beyond the last tier that the source names, its price goes on.
  if (gb > paid_from && !fee.tiers.empty()) sum += (gb - paid_from) * fee.tiers.back().price;
  return sum;
}

const Fee* fee_of(const Catalog& catalog, const std::string& provider, const std::string& kind,
                  const std::string& region) {
  const Fee* found = nullptr;
  const auto rank = [&](const Fee& fee) { return !region.empty() && fee.region == region ? 2 : fee.region.empty(); };
  for (const Fee& fee : catalog.fees) {
    if (fee.provider != provider || fee.kind != kind) continue;
    if (found == nullptr || rank(fee) > rank(*found)) found = &fee;
  }
  return found;
}

json fees_json(const Catalog& catalog, const std::string& provider, const std::string& region, const Usage& usage,
               const std::string& currency, const Rates& rates) {
  const Part storage =
      part(catalog, provider, region, "storage", usage.storage_gb, usage.storage_price, usage, currency, rates);
  const Part egress =
      part(catalog, provider, region, "egress", usage.egress_gb, usage.egress_price, usage, currency, rates);
  json fees = {{"currency", currency},
               {"storage_per_month", storage.amount ? json(*storage.amount) : json(nullptr)},
               {"egress_per_month", egress.amount ? json(*egress.amount) : json(nullptr)},
               {"per_hour", nullptr},
               {"missing", json::array()},
               {"sources", json::array()}};
  if (!storage.amount) fees["missing"].push_back("storage");
  if (!egress.amount) fees["missing"].push_back("egress");
  for (const Part* known : {&storage, &egress})
    if (!known->source.empty()) fees["sources"].push_back(known->source);
  if (storage.amount && egress.amount) fees["per_hour"] = (*storage.amount + *egress.amount) / usage.hours;
  return fees;
}

}  // namespace claimcheck

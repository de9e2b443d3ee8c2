#include "harness/cost/energy.h"

#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Of all devices of the measurement; unset when one has none: a sum of some says nothing about all.
std::optional<double> watts_of(const Measurement& measurement) {
  const auto devices = measurement.evidence.find("devices");
  if (devices == measurement.evidence.end() || !devices->is_array() || devices->empty()) return std::nullopt;
  double sum = 0;
  for (const json& device : *devices) {
    const auto watts = number_at(device, "/power_w");
    if (!watts || !(*watts > 0)) return std::nullopt;
    sum += *watts;
  }
  return sum;
}

}  // namespace

json energy_json(const Document& document, const UsefulRate& useful, const CostOptions& options) {
  if (!(useful.tflops > 0)) return nullptr;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.id != useful.measurement_id || measurement.metric != gemm_metric(useful.data_type)) continue;
    const auto watts = watts_of(measurement);
    if (!watts) return nullptr;
    const double joules = *watts / useful.tflops * 1e6;
    const double kilowatt_hours = joules / 3.6e6;
    return {{"watts", *watts},
            {"devices", measurement.evidence.at("devices").size()},
            {"joules_per_eflop", joules},
            {"kwh_per_eflop", kilowatt_hours},
            {"pue", options.pue},
            {"money_per_eflop",
             options.kwh_price ? json(kilowatt_hours * options.pue * *options.kwh_price) : json(nullptr)}};
  }
  return nullptr;
}

}  // namespace claimcheck

// Useful TFLOPS of a measured machine.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cost/cost.h"
#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

struct Scaling {
  double efficiency = 1;
  double ranks = 1;
};

// At the largest number of ranks.
std::optional<Scaling> measured_scaling(const Document& document) {
  std::optional<Scaling> found;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != "scaling.gemm.efficiency" || !measurement.usable()) continue;
    const nlohmann::json ranks = condition_of(measurement, "ranks");
    if (!counts(document, measurement) || !ranks.is_number()) continue;
    if (!found || ranks.get<double>() > found->ranks) found = Scaling{*measurement.value, ranks.get<double>()};
  }
  return found;
}

const Measurement* gemm_of(const Document& document, const std::string& data_type) {
  const std::string metric = gemm_metric(data_type);
  return metric.empty() ? nullptr : headline(document, metric);
}

const Measurement* default_gemm(const Document& document) {
  if (const Measurement* bf16 = gemm_of(document, "bf16")) return bf16;
  const Measurement* fastest = nullptr;
  for (const char* data_type : {"tf32", "fp16", "fp32", "fp64"}) {
    const Measurement* found = gemm_of(document, data_type);
    if (found != nullptr && (fastest == nullptr || *found->value > *fastest->value)) fastest = found;
  }
  return fastest;
}

void on_host(UsefulRate& useful, const Measurement& gemm) {
  useful.on_host = true;
  useful.tflops = useful.per_device;
  useful.basis = fmt::format("{} ({}, random data, all cores at once, so nothing is left to lose to scaling)",
                             quantity_text(useful.per_device, gemm.unit), gemm.id);
}

void on_accelerators(UsefulRate& useful, const Document& document, const Measurement& gemm, double assumed_scaling) {
  const std::size_t seen = accelerators_seen(document).value_or(std::vector<std::string>{}).size();
  const std::size_t worked = devices_at_work(gemm);
  useful.devices = static_cast<int>(std::max<std::size_t>(1, std::max(seen, worked) / nodes_seen(document)));
  std::string scaling;
  if (useful.devices > 1) {
    if (const auto measured = measured_scaling(document)) {
      useful.scaling = measured->efficiency;
      scaling = fmt::format(" x {} (scaling measured at {:.0f} ranks)", number_text(useful.scaling), measured->ranks);
    } else {
      useful.scaling = assumed_scaling;
      useful.scaling_assumed = true;
      scaling = fmt::format(" x {} (scaling assumed: it was not measured)", number_text(useful.scaling));
    }
  }
  useful.tflops = useful.per_device * useful.devices * useful.scaling;
  const std::string which = worked > 1 ? fmt::format("the slowest of {}, ", worked)
                            : seen > 1 ? "one was measured, the others are taken for as fast, "
                                       : "";
  useful.basis = fmt::format("{} ({}{}, random data) x {}{}", quantity_text(useful.per_device, gemm.unit), which,
                             gemm.id, useful.devices, scaling);
}

}  // namespace

std::optional<UsefulRate> useful_rate(const Document& document, const std::string& data_type, double assumed_scaling) {
  const Measurement* gemm = data_type.empty() ? default_gemm(document) : gemm_of(document, data_type);
  if (gemm == nullptr) return std::nullopt;
  UsefulRate useful;
  useful.data_type = gemm_data_type(gemm->metric);
  useful.per_device = *gemm->value;
  useful.measurement_id = gemm->id;
  useful.is_virtual = document.is_virtual || gemm->is_virtual;
  if (measured_on_host(document, *gemm)) {
    on_host(useful, *gemm);
  } else {
    on_accelerators(useful, document, *gemm, assumed_scaling);
  }
  return useful;
}

double dollars_per_eflop(double price_per_hour, double useful_tflops) {
  constexpr double seconds_per_hour = 3600;
  constexpr double tflop_per_eflop = 1e6;
  return price_per_hour / (useful_tflops * seconds_per_hour / tflop_per_eflop);
}

}  // namespace claimcheck

#include "harness/judge/physics.h"

#include <fmt/format.h>

#include <array>

#include "harness/evidence/bus_limit.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/physics_links.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Fused multiply-adds per clock of one SM, dense, by compute capability; 0: not known here, or no such unit.
struct FmaRates {
  std::string_view capability;
  int fp64, fp32, tf32, fp16, fp8, int8, fp4;  // fp16 also for bf16; fp64 of the tensor cores where they have it
  int vector_fp64;                             // fp64 without them; fp32 is the same for both
};

constexpr std::array fma_rates = {
    FmaRates{"7.0", 32, 64, 0, 512, 0, 0, 0, 32},         FmaRates{"7.5", 2, 64, 0, 512, 0, 1024, 0, 2},
    FmaRates{"8.0", 64, 64, 512, 1024, 0, 2048, 0, 32},   FmaRates{"8.6", 2, 128, 256, 512, 0, 1024, 0, 2},
    FmaRates{"8.9", 2, 128, 256, 512, 1024, 1024, 0, 2},  FmaRates{"9.0", 128, 128, 1024, 2048, 4096, 4096, 0, 64},
    FmaRates{"10.0", 0, 128, 2048, 4096, 8192, 0, 0, 64}, FmaRates{"12.0", 0, 128, 0, 512, 1024, 0, 2048, 2},
};

int vector_fma_per_clock(const std::string& capability, const std::string& data_type) {
  for (const FmaRates& rates : fma_rates) {
    if (rates.capability != capability) continue;
    return data_type == "fp64" ? rates.vector_fp64 : data_type == "fp32" ? rates.fp32 : 0;
  }
  return 0;
}

int fma_per_clock(const std::string& capability, const std::string& data_type) {
  for (const FmaRates& rates : fma_rates) {
    if (rates.capability != capability) continue;
    if (data_type == "fp64") return rates.fp64;
    if (data_type == "fp32") return rates.fp32;
    if (data_type == "tf32") return rates.tf32;
    if (data_type == "fp16" || data_type == "bf16") return rates.fp16;
    if (data_type.starts_with("fp8")) return rates.fp8;
    if (data_type == "int8") return rates.int8;
    if (data_type == "fp4") return rates.fp4;
  }
  return 0;
}

// Index of the device whose value is the measurement's: the slowest, or the only one.
int deciding_device(const Measurement& measurement) {
  for (const DeviceValue& device : measurement.devices) {
    if (device.value && measurement.value && *device.value == *measurement.value) return device.index;
  }
  return measurement.devices.empty() ? 0 : measurement.devices.front().index;
}

std::optional<Ceiling> of_clocks(double units, std::string_view unit_name, double flop, double clock_mhz) {
  return Ceiling{units * flop * clock_mhz * 1e6 / 1e12,
                 fmt::format("{} {} x {} FLOP per clock x {} MHz", exact_text(units), unit_name, exact_text(flop),
                             exact_text(clock_mhz))};
}

std::optional<Ceiling> of_host(const json& facts, const std::string& data_type) {
  const double flop = data_type == "fp64" ? 32 : data_type == "fp32" ? 64 : 0;
  const auto cores = number_at(facts, "/compute_units");
  const auto clock = number_at(facts, "/max_clock_mhz");
  if (flop == 0 || !cores || !clock || *cores <= 0 || *clock <= 0) return std::nullopt;
  return of_clocks(*cores, "cores", flop, *clock);
}

std::optional<Ceiling> of_catalog(const Accelerator& accelerator, const std::string& data_type) {
  const auto dense = dense_claim(accelerator, data_type);
  const auto sheet_clock = number_at(accelerator.record, "/boost_mhz");
  const auto max_clock = number_at(accelerator.record, "/device_reported/max_sm_clock_mhz");
  if (!dense || !sheet_clock || !max_clock || *sheet_clock <= 0 || *max_clock < *sheet_clock) return std::nullopt;
  return Ceiling{*dense * *max_clock / *sheet_clock,
                 fmt::format("data sheet {} at {} MHz, device maximum {} MHz", exact_text(*dense),
                             exact_text(*sheet_clock), exact_text(*max_clock))};
}

std::optional<Ceiling> of_gpu(const json& facts, const Accelerator* accelerator, const std::string& data_type) {
  const auto units = number_at(facts, "/compute_units");
  const auto clock = number_at(facts, "/max_sm_clock_mhz");
  const int fma = fma_per_clock(text_at(facts, "compute_capability"), data_type);
  if (units && clock && fma > 0) return of_clocks(*units, "SMs", 2.0 * fma, *clock);
  return accelerator == nullptr ? std::nullopt : of_catalog(*accelerator, data_type);
}

std::optional<Ceiling> of_gpu_memory(const json& facts) {
  const auto clock = number_at(facts, "/max_memory_clock_mhz");
  const auto bits = number_at(facts, "/memory_bus_bits");
  if (!clock || !bits || *clock <= 0 || *bits <= 0) return std::nullopt;
  return Ceiling{*clock * 2 * *bits / 8 / 1e3,
                 fmt::format("2 x {} MHz x {} bit", exact_text(*clock), exact_text(*bits))};
}

// Without the device's own clock: the sheet's figure with room for memory that runs faster than printed (H200: 4917
// GB/s by its clock, 4800 printed).
std::optional<Ceiling> of_printed_memory(const Accelerator* card) {
  if (card == nullptr || !card->memory_bandwidth_gbps) return std::nullopt;
  return Ceiling{*card->memory_bandwidth_gbps * 1.03,
                 fmt::format("data sheet {} GB/s + 3 %", exact_text(*card->memory_bandwidth_gbps))};
}

bool is_device_memory(std::string_view metric) { return metric.starts_with("memory.") && metric.ends_with(".gbps"); }

// What of a metric's name or conditions is the type it counts operations of; empty for other metrics.
std::string operation_type(const Measurement& measurement) {
  const std::string& metric = measurement.metric;
  if (metric == "training.tflops") return text_at(measurement.conditions, "data_type");
  for (const std::string_view family : {"gemm.", "tensor.", "vector."}) {
    if (!metric.starts_with(family) || !(metric.ends_with(".tflops") || metric.ends_with(".tops"))) continue;
    return metric.substr(family.size(), metric.rfind('.') - family.size());
  }
  return {};
}

const Accelerator* card_of(const Measurement& measurement, const Catalog& catalog) {
  return measurement.devices.empty() ? nullptr : accelerator_of_name(catalog, measurement.devices.front().name);
}

std::optional<Ceiling> of_vector(const json& facts, const std::string& data_type) {
  const auto units = number_at(facts, "/compute_units");
  const auto clock = number_at(facts, "/max_sm_clock_mhz");
  const int fma = vector_fma_per_clock(text_at(facts, "compute_capability"), data_type);
  return units && clock && fma > 0 ? of_clocks(*units, "SMs", 2.0 * fma, *clock) : std::nullopt;
}

}  // namespace

std::optional<Ceiling> ceiling(const Document& document, const Measurement& measurement, const Catalog& catalog) {
  const json facts = device_facts(document, deciding_device(measurement));
  const std::string data_type = operation_type(measurement);
  const bool host = measured_on_host(document, measurement);
  if (!data_type.empty()) {
    if (host) return of_host(facts, data_type);
    if (measurement.metric.starts_with("vector.")) return of_vector(facts, data_type);
    return of_gpu(facts, card_of(measurement, catalog), data_type);
  }
  if (is_device_memory(measurement.metric) && !host) {
    const auto own = of_gpu_memory(facts);
    return own ? own : of_printed_memory(card_of(measurement, catalog));
  }
  if (auto limit = link_ceiling(document, measurement, catalog)) return limit;
  if (const auto limit = most_bus(document, measurement, catalog)) return Ceiling{limit->gbps, limit->formula};
  return std::nullopt;
}

std::optional<std::string> implausible(const Document& document, const Measurement& measurement,
                                       const Catalog& catalog) {
  if (!measurement.value) return std::nullopt;
  const std::optional<Ceiling> limit = ceiling(document, measurement, catalog);
  if (!limit || *measurement.value <= limit->value * 1.01) return std::nullopt;
  return fmt::format("{} is above what the device can do ({} = {}): a measurement error, not a fast machine",
                     quantity_text(*measurement.value, measurement.unit), limit->basis,
                     quantity_text(limit->value, measurement.unit));
}

}  // namespace claimcheck

#include "harness/evidence/derived.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/evidence/bus_limit.h"
#include "harness/evidence/soak.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/statistics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

const Accelerator* accelerator_of(const Document& document, const Measurement& measurement, const Catalog& catalog) {
  if (measured_on_host(document, measurement)) return nullptr;
  if (!measurement.devices.empty() && !measurement.devices.front().name.empty())
    return catalog.find_accelerator(measurement.devices.front().name);
  const Platform* platform = platform_of(document, catalog);
  return platform == nullptr ? nullptr : catalog.find_accelerator(platform->accelerator);
}

std::optional<Measurement> utilisation(const Document& document, const Measurement& step, const Catalog& catalog) {
  const Accelerator* accelerator = accelerator_of(document, step, catalog);
  const std::string type = text_at(step.conditions, "data_type");
  if (accelerator == nullptr || type.empty() || !step.value) return std::nullopt;
  const auto peak = dense_claim(*accelerator, type);
  if (!peak || !(*peak > 0)) return std::nullopt;
  Measurement mfu = step;
  mfu.metric = "training.mfu";
  mfu.unit = "1";
  *mfu.value /= *peak;
  if (mfu.statistics) {
    for (double& sample : mfu.statistics->samples) sample /= *peak;
    if (!mfu.statistics->samples.empty()) mfu.statistics = summarise(mfu.statistics->samples);
  }
  for (DeviceValue& device : mfu.devices) {
    if (device.value) *device.value /= *peak;
    if (device.ci95) device.ci95 = {device.ci95->first / *peak, device.ci95->second / *peak};
  }
  mfu.evidence = {{"derived",
                   {{"from", "training.tflops"},
                    {"peak_tflops", *peak},
                    {"accelerator", accelerator->id},
                    {"formula", fmt::format("training.tflops / {} TFLOPS, the data sheet's dense {} peak of the {}",
                                            exact_text(*peak), type, accelerator->name)}}}};
  return mfu;
}

void note_limit(const Document& document, const Catalog& catalog, Measurement& measurement) {
  if (!measurement.metric.ends_with(".busbw.gbps") || !measurement.evidence.is_object()) return;
  measurement.evidence.erase("expected_at_most");
  if (!measurement.usable()) return;
  const auto limit = expected_bus(document, measurement, catalog);
  if (!limit) return;
  measurement.evidence["expected_at_most"] = {
      {"gbps", limit->gbps}, {"formula", limit->formula}, {"share", *measurement.value / limit->gbps}};
}

// Facts of the probe that sellers make claims about.
void add_startup(Document& document) {
  const json startup = document.system.value("startup", json());
  if (!startup.is_object()) return;
  for (const auto& [fact, metric] : {std::pair("ready_seconds", "startup.boot_to_ready.seconds"),
                                     std::pair("first_benchmark_seconds", "startup.boot_to_first_benchmark.seconds")}) {
    const auto seconds = number_at(startup, std::string("/") + fact);
    if (!seconds) continue;
    Measurement measurement;
    measurement.id = std::string(metric).substr(0, std::string(metric).rfind('.'));
    measurement.metric = metric;
    measurement.status = Outcome::ok;
    measurement.value = *seconds;
    measurement.unit = "s";
    measurement.conditions = {{"since", text_at(startup, "since")}};
    measurement.evidence = {{"derived", {{"from", std::string("system.startup.") + fact}, {"startup", startup}}}};
    measurement.is_virtual = document.is_virtual;
    document.measurements.push_back(std::move(measurement));
  }
}

}  // namespace

bool is_derived(const Measurement& measurement) {
  return measurement.evidence.is_object() && measurement.evidence.contains("derived");
}

void derive(Document& document, const Catalog& catalog) {
  std::erase_if(document.measurements, is_derived);
  for (Measurement& measurement : document.measurements) note_limit(document, catalog, measurement);
  for (std::size_t i = 0; i < document.measurements.size(); ++i) {
    if (document.measurements[i].metric != "training.tflops") continue;
    if (auto mfu = utilisation(document, document.measurements[i], catalog)) {
      ++i;
      document.measurements.insert(document.measurements.begin() + static_cast<std::ptrdiff_t>(i), std::move(*mfu));
    }
  }
  for (Measurement& kept : retentions(document)) document.measurements.push_back(std::move(kept));
  add_startup(document);
}

}  // namespace claimcheck

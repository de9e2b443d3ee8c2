#include "harness/judge/soak.h"

#include <fmt/format.h>

#include "harness/judge/headline.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// "from 1755 to 1410 MHz", where the clock is known.
std::string change(const json& window, const char* name, const char* unit) {
  const auto first = number_at(window, fmt::format("/{}/0", name));
  const auto last = number_at(window, fmt::format("/{}/1", name));
  return first && last ? fmt::format(", {:.0f} to {:.0f} {}", *first, *last, unit) : std::string();
}

std::string why(const json& window) {
  const std::string device = fmt::format("GPU {:.0f}", number_at(window, "/device").value_or(0));
  const std::string seen =
      change(window, "sm_clock_mhz", "MHz") + change(window, "power_w", "W") + change(window, "temperature_c", "C");
  const std::string kept = percent_text(number_at(window, "/kept").value_or(0));
  const std::string faults = text_at(window, "throttle_faults");
  const std::string head = fmt::format("{} kept {} of its speed{}", device, kept, seen);
  if (faults.find("thermal") != std::string::npos)
    return head + fmt::format(
                      "; it was slowed down by heat ({}). -> Ask the provider about its cooling, or return the "
                      "machine.",
                      faults);
  if (!faults.empty())
    return head +
           fmt::format("; its hardware slowed it down ({}). -> Ask the provider: power supply or board.", faults);
  return head + fmt::format(
                    ". -> `nvidia-smi -i {:.0f} -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE` under load; ask the "
                    "provider to replace it if it stays.",
                    number_at(window, "/device").value_or(0));
}

Verdict verdict_on(const Measurement& kept, const Metric& metric) {
  Verdict verdict;
  verdict.claim.id = "expected:" + metric.key;
  verdict.claim.metric = metric.key;
  verdict.claim.comparison = ">=";
  verdict.claim.value = 1 - metric.tolerance;
  verdict.claim.unit = metric.unit;
  verdict.claim.definition = {{"comparison", "typical"}, {"typical", {1, 1}}};
  verdict.claim.source = {
      {"from", "rule"}, {"text", "a sound device keeps its speed (DCGM Targeted Stress passes at 95 % of the target)"}};
  verdict.kind = kept.status == Outcome::unstable ? VerdictKind::not_met : VerdictKind::met;
  verdict.attained = *kept.value;
  verdict.measurement_id = kept.id;
  verdict.reason = fmt::format(
      "{}: {} of the first minute's speed is left in the last one; sound devices keep {} at "
      "least",
      to_string(kept.status == Outcome::unstable ? Outcome::unstable : Outcome::ok), quantity_text(*kept.value, "1"),
      quantity_text(1 - metric.tolerance, "1"));
  if (verdict.kind == VerdictKind::met) return verdict;
  for (const json& window : kept.evidence.value("windows", json::array()))
    if (number_at(window, "/kept").value_or(1) < 1 - metric.tolerance) verdict.diagnosis.push_back(why(window));
  return verdict;
}

}  // namespace

std::vector<Verdict> soak_verdicts(const Document& document) {
  std::vector<Verdict> verdicts;
  for (const Measurement& measurement : document.measurements) {
    if (!measurement.metric.ends_with(".retention") || !measurement.value) continue;
    const Metric* metric = find_metric(measurement.metric);
    if (metric == nullptr || measured_on_host(document, measurement) || !counts(document, measurement)) continue;
    verdicts.push_back(verdict_on(measurement, *metric));
  }
  return verdicts;
}

}  // namespace claimcheck

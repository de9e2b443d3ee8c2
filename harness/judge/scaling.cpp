#include "harness/judge/scaling.h"

#include <fmt/format.h>

#include "harness/judge/diagnosis.h"
#include "harness/judge/headline.h"
#include "harness/judge/line.h"
#include "harness/judge/machine.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Of the largest number of ranks.
const Measurement* at_most_ranks(const Document& document, std::string_view metric) {
  const Measurement* most = nullptr;
  double ranks = 1;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != metric || !measurement.usable() || !counts(document, measurement)) continue;
    const json count = condition_of(measurement, "ranks");
    if (!count.is_number() || count.get<double>() <= ranks || measured_on_host(document, measurement)) continue;
    most = &measurement;
    ranks = count.get<double>();
  }
  return most;
}

Verdict verdict_on(const Document& document, const Measurement& measurement, const Metric& metric) {
  const Line line{">=", false, 1 - metric.tolerance, metric.tolerance};
  const Reading reading = reading_of(measurement);
  const double ranks = condition_of(measurement, "ranks").get<double>();
  Verdict verdict;
  verdict.claim.id = "expected:" + metric.key;
  verdict.claim.metric = metric.key;
  verdict.claim.value = line.value;
  verdict.claim.unit = metric.unit;
  verdict.claim.definition = {{"comparison", "typical"}, {"typical", {1, 1}}, {"conditions", {{"ranks", ranks}}}};
  verdict.claim.source = {{"from", "rule"},
                          {"text", "every GPU has units and memory of its own: all at once are as fast as each alone"}};
  verdict.kind = decide(line, reading);
  verdict.attained = reading.value;
  if (!reading.few_samples) verdict.interval = reading.interval;
  verdict.measurement_id = measurement.id;
  verdict.reason = fmt::format("{:.0f} GPUs at once keep {} of {:.0f} times one alone; healthy ones at least {}", ranks,
                               quantity_text(reading.value, "1"), ranks, quantity_text(line.value, "1"));
  if (verdict.kind == VerdictKind::met) return verdict;
  const json slowest = measurement.evidence.value("slowest_rank", json());
  const auto rank = number_at(slowest, "/rank");
  const auto times = number_at(slowest, "/times_fastest");
  if (rank && times && *times > 1 + metric.tolerance)
    verdict.diagnosis.push_back(fmt::format(
        "GPU {:.0f} held the others back: it took {:.2f} times as long as the fastest. -> Look at its clock, power and "
        "temperature (nvidia-smi -i {:.0f} -q -d PERFORMANCE).",
        *rank, *times, *rank));
  else
    verdict.diagnosis.emplace_back(
        "All slow down alike when they work together: they share power or cooling. -> `nvidia-smi -q -d PERFORMANCE` "
        "under load; ask the provider.");
  for (std::string& why : diagnose(document, measurement)) verdict.diagnosis.push_back(std::move(why));
  return verdict;
}

}  // namespace

std::vector<Verdict> scaling_verdicts(const Document& document) {
  std::vector<Verdict> verdicts;
  for (const char* key : {"scaling.gemm.efficiency", "scaling.memory.efficiency"}) {
    const Metric* metric = find_metric(key);
    const Measurement* measurement = metric == nullptr ? nullptr : at_most_ranks(document, key);
    if (measurement != nullptr) verdicts.push_back(verdict_on(document, *measurement, *metric));
  }
  return verdicts;
}

}  // namespace claimcheck

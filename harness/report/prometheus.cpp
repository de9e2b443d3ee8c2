// For node_exporter's textfile collector (text exposition format 0.0.4): measurements, devices, claims and cost as
// gauges. Write it with --output into the collector's folder: the file appears at once or not at all.
#include <fmt/format.h>

#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/report/format.h"
#include "harness/report/sanitise.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using Labels = std::vector<std::pair<std::string, std::string>>;

std::string label_value(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c;
  }
  return safe;
}

class Exposition {
 public:
  explicit Exposition(Labels common) : common_(std::move(common)) {}

  void family(const std::string& name, const std::string& help) {
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
    name_ = name;
  }

  void sample(const Labels& labels, double value) {
    text_ += name_ + "{";
    bool first = true;
    for (const Labels* list : {static_cast<const Labels*>(&common_), &labels})
      for (const auto& [key, content] : *list) {
        text_ += fmt::format("{}{}=\"{}\"", first ? "" : ",", key, label_value(content));
        first = false;
      }
    text_ += fmt::format("}} {}\n", value);
  }

  std::string take() { return std::move(text_); }

 private:
  Labels common_;
  std::string name_;
  std::string text_;
};

// One series a metric: the case that speaks for it, as in claims.
void add_measurements(const Document& document, Exposition& out) {
  std::vector<const Measurement*> speaking;
  for (const Metric& metric : metrics())
    if (const Measurement* measurement = headline(document, metric.key)) speaking.push_back(measurement);
  out.family("claimcheck_measurement", "Median of the case that speaks for a metric, in its unit (label unit).");
  for (const Measurement* measurement : speaking)
    out.sample({{"metric", measurement->metric}, {"case", measurement->id}, {"unit", measurement->unit}},
               *measurement->value);
  out.family("claimcheck_device", "The same of each device.");
  for (const Measurement* measurement : speaking)
    for (const DeviceValue& device : measurement->devices)
      if (device.value)
        out.sample(
            {{"metric", measurement->metric}, {"unit", measurement->unit}, {"device", std::to_string(device.index)}},
            *device.value);
}

void add_outcomes(const Document& document, Exposition& out) {
  std::map<Outcome, std::size_t> outcomes;
  for (const Outcome outcome : {Outcome::ok, Outcome::wrong_result, Outcome::unstable, Outcome::unsupported,
                                Outcome::timed_out, Outcome::crashed, Outcome::failed})
    outcomes[outcome] = 0;
  for (const Measurement& measurement : document.measurements) ++outcomes[measurement.status];
  out.family("claimcheck_outcomes", "Measurements by outcome.");
  for (const auto& [outcome, count] : outcomes)
    out.sample({{"outcome", std::string(to_string(outcome))}}, static_cast<double>(count));
}

void add_claims(const Document& document, Exposition& out) {
  out.family("claimcheck_claim_met", "1: met, 0: not met or contradicted; claims without an answer are absent.");
  for (const Verdict& verdict : document.verdicts) {
    const bool met = verdict.kind == VerdictKind::met;
    if (!met && verdict.kind != VerdictKind::not_met && verdict.kind != VerdictKind::contradicted) continue;
    out.sample({{"claim", verdict.claim.id}, {"metric", verdict.claim.metric}}, met ? 1 : 0);
  }
  out.family("claimcheck_claim_share", "Attained over claimed.");
  for (const Verdict& verdict : document.verdicts)
    if (const auto share = share_of_claim(verdict)) out.sample({{"claim", verdict.claim.id}}, *share);
}

void add_cost(const Document& document, Exposition& out) {
  if (!document.cost.is_object()) return;
  out.family("claimcheck_cost_per_eflop", "Price of a useful EFLOP as measured here.");
  for (const json& result : objects_at(document.cost, "results"))
    if (const auto rate = number_at(result, "/per_eflop"))
      out.sample({{"currency", text_at(result, "currency")}}, *rate);
}

}  // namespace

std::string render_prometheus(const Document& original, const ReportOptions&) {
  const Document document = sanitised(original);
  const std::string instance = text_at(document.platform, "instance");
  Exposition out({{"instance_type", instance.empty() ? "unknown" : instance},
                  {"virtual", document.is_virtual ? "true" : "false"}});
  out.family("claimcheck_run_complete", "1 when everything that was planned was measured.");
  out.sample({}, text_at(document.run, "status") == "complete" ? 1 : 0);
  add_measurements(document, out);
  add_outcomes(document, out);
  add_claims(document, out);
  add_cost(document, out);
  return out.take();
}

}  // namespace claimcheck

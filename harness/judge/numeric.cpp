#include "harness/judge/numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/evidence/left_out.h"
#include "harness/judge/definition.h"
#include "harness/judge/diagnosis.h"
#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/line.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/physics.h"
#include "harness/judge/slice.h"
#include "harness/judge/sustained.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

bool is_peak(const Claim& claim) { return text_at(claim.definition, "kind") == "peak"; }

// A claim per node about a metric per device: all devices as fast as the slowest.
double node_factor(const Claim& claim, const Measurement& measurement) {
  const Metric* metric = find_metric(claim.metric);
  if (text_at(claim.definition, "per") != "node" || metric == nullptr || metric->per != "device") return 1;
  return std::max<double>(1, static_cast<double>(measurement.devices.size()));
}

json conditions_of(const Claim& claim) { return claim.definition.value("conditions", json::object()); }

Accepts accepts(const Document& document, const Claim& claim) {
  const bool accelerators_only = !text_at(claim.definition, "accelerator").empty();
  return [&document, accelerators_only](const Measurement& measurement) {
    return !accelerators_only || !measured_on_host(document, measurement);
  };
}

// The claim's own metric first, then those in definition.also.
const Measurement* speaker(const Document& document, const Claim& claim) {
  std::vector<std::string> keys = {claim.metric};
  for (const json& key : claim.definition.value("also", json::array())) keys.push_back(value_text(key));
  for (const std::string& key : keys) {
    const Measurement* found = headline_where(document, key, conditions_of(claim), accepts(document, claim));
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::string why_no_speaker(const Document& document, const Claim& claim) {
  const std::string name = text_at(claim.definition, "accelerator_name");
  const bool on_host =
      std::any_of(document.measurements.begin(), document.measurements.end(), [&](const Measurement& measurement) {
        return measurement.metric == claim.metric && measured_on_host(document, measurement);
      });
  if (!name.empty() && (on_host || worker_kind(document) == "host")) {
    return fmt::format("only the CPU was measured; the claim is about the {}", name);
  }
  return why_not_measured(document, claim.metric, conditions_of(claim), accepts(document, claim));
}

const Accelerator* accelerator_of(const Document& document, const Claim& claim, const Measurement& measurement,
                                  const Catalog& catalog) {
  const std::string id = text_at(claim.definition, "accelerator");
  if (!id.empty()) return catalog.find_accelerator(id);
  if (measured_on_host(document, measurement)) return nullptr;
  if (!measurement.devices.empty() && !measurement.devices.front().name.empty())
    return accelerator_of_name(catalog, measurement.devices.front().name);
  const Platform* platform = platform_of(document, catalog);
  return platform == nullptr ? nullptr : catalog.find_accelerator(platform->accelerator);
}

// The line a claim is held to, and the sentence that shows how it was converted.
struct Target {
  Line line;
  double claimed = 0;  // what percent of claim is of
  std::string note;
};

void convert_definition(const Claim& claim, Target& target) {
  const double times = counted_times(claim);
  if (times == 1) return;
  target.claimed /= times;
  target.line.value = target.claimed;
  const std::string printed = claimed_text(claim.value, claim.unit);
  const std::string counted = claimed_text(target.claimed, claim.unit);
  target.note = flag_at(claim.definition, "sparse")
                    ? fmt::format("{} sparse is {} dense (structured sparsity counts operations that are not done)",
                                  printed, counted)
                    : fmt::format("{} counts both directions, {} is one", printed, counted);
}

// What the printed figure is, of which real parts keep up a share.
const char* printed_figure(const std::string& metric) {
  const bool link = metric.starts_with("p2p.") || metric.starts_with("host_link.") || metric.starts_with("network.");
  return link ? "the line rate, of which healthy links carry" : "an arithmetic peak, of which healthy parts sustain";
}

// By the share of the metric that speaks: healthy parts copy at another share than they read.
void convert_peak(const Claim& claim, const std::string& measured, const Accelerator* accelerator,
                  const Catalog& catalog, Target& target) {
  if (!is_peak(claim)) return;
  auto sustained = accelerator == nullptr ? sustained_share_of_any(catalog, measured)
                                          : sustained_share(catalog, *accelerator, measured);
  if (!sustained && accelerator != nullptr) sustained = sustained_share(catalog, *accelerator, claim.metric);
  if (!sustained) return;
  target.line.value = target.claimed * sustained->share * (1 - sustained_tolerance(claim.metric));
  if (!target.note.empty()) target.note += "; ";
  target.note +=
      fmt::format("{} is {} {} ({}); less {} for variation, {} counts as met", claimed_text(target.claimed, claim.unit),
                  printed_figure(claim.metric), share_text(sustained->share), sustained->basis,
                  share_text(sustained_tolerance(claim.metric)), quantity_text(target.line.value, claim.unit));
}

Target target_of(const Claim& claim, const std::string& measured, const Accelerator* accelerator,
                 const Catalog& catalog) {
  Target target;
  target.claimed = claim.value.get<double>();
  const Metric* metric = find_metric(claim.metric);
  target.line = {claim.comparison, flag_at(claim.definition, "strictly"), target.claimed,
                 metric == nullptr ? 0 : metric->tolerance};
  convert_definition(claim, target);
  convert_peak(claim, measured, accelerator, catalog, target);
  return target;
}

std::string share_sentence(const Target& target, const Reading& reading, const std::string& unit) {
  if (target.claimed == 0) return fmt::format("{} attained", quantity_text(reading.value, unit));
  return fmt::format("{} is {} of the claimed {}", quantity_text(reading.value, unit),
                     share_text(reading.value / target.claimed), claimed_text(target.claimed, unit));
}

std::string miss_sentence(const Target& target, const Reading& reading, const std::string& unit) {
  const double gap = std::abs(target.line.value - reading.value);
  const char* verb = target.line.comparison == "<="                                        ? "exceeds it by"
                     : target.line.comparison == ">=" || reading.value < target.line.value ? "falls short by"
                                                                                           : "is above it by";
  const std::string share =
      target.line.value == 0 ? "" : fmt::format(" ({})", share_text(gap / std::abs(target.line.value)));
  const std::string amount = unit == "1"   ? fmt::format("{:.1f} points", gap * 100)
                             : gap >= 1000 ? fmt::format("{:.0f} {}", gap, unit)
                                           : quantity_text(gap, unit);
  const bool converted = target.line.value != target.claimed;
  const std::string of = converted ? " of " + quantity_text(target.line.value, unit) : "";
  return fmt::format("{} {}{}{}: {}", verb, amount, share, of, share_sentence(target, reading, unit));
}

std::string open_sentence(const Target& target, const Reading& reading, const std::string& unit) {
  return fmt::format("{}, but {} ({}) straddles {}: more repetitions or a quieter machine would tell",
                     share_sentence(target, reading, unit),
                     reading.few_samples ? "the range of its few repetitions" : "the 95 % interval of the median",
                     range_text(reading.interval->first, reading.interval->second, unit),
                     quantity_text(target.line.value, unit));
}

std::string reason(VerdictKind kind, const Target& target, const Reading& reading, const Claim& claim,
                   const Measurement& measurement) {
  std::string text = kind == VerdictKind::met       ? share_sentence(target, reading, claim.unit)
                     : kind == VerdictKind::not_met ? miss_sentence(target, reading, claim.unit)
                                                    : open_sentence(target, reading, claim.unit);
  if (measurement.metric != claim.metric) text += fmt::format(" (measured as {})", measurement.metric);
  if (measurement.is_virtual) text += " (on a virtual device)";
  if (!target.note.empty()) text += "; " + target.note;
  return text;
}

// Not of a number of ranks that was asked for, nor of what no device takes part in (storage).
bool about_all_devices(const Claim& claim, const Measurement& measurement) {
  const json conditions = conditions_of(claim);
  if (conditions.contains("ranks") || conditions.contains("count")) return false;
  const Metric* metric = find_metric(claim.metric);
  return !measurement.devices.empty() ||
         (metric != nullptr && (metric->per == "device" || metric->per == "rank" || metric->per == "pair"));
}

// How many devices a measurement is of; unset when it does not say. Of several processes each lists its own devices.
std::optional<std::size_t> taking_part(const Measurement& measurement) {
  if (!measurement.conditions.contains("processes")) {
    if (measurement.devices.empty()) return std::nullopt;
    return measurement.devices.size();
  }
  const auto ranks = number_at(measurement.conditions, "/ranks");
  if (!ranks) return std::nullopt;
  return static_cast<std::size_t>(*ranks);
}

// Why a claim that holds for what was measured does not count for the machine; empty when it does.
std::string not_all_measured(const Document& document, const Claim& claim, const Measurement& measurement) {
  if (measured_on_host(document, measurement) || !about_all_devices(claim, measurement)) return {};
  const std::vector<LeftOut> left_out = left_out_devices(document);
  const auto seen = accelerators_seen(document);
  const std::optional<std::size_t> measured = taking_part(measurement);
  const std::size_t all = (seen ? seen->size() : 0) + left_out.size();
  if (measured && seen && *measured >= all) return {};  // before the others were lost
  if (!left_out.empty()) {
    return fmt::format("{} did not start, so it was measured without; a claim about all is not met by fewer",
                       names_of(left_out));
  }
  if (!seen || !measured) return {};
  return fmt::format("only {} of {} GPUs was measured; a claim about all is not met by fewer", *measured, all);
}

// A tool that tried copies between GPUs and found that none reaches another's memory; nullptr when none did.
const Measurement* no_peer_access(const Document& document, const Claim& claim) {
  if (!claim.metric.starts_with("p2p.") || claim.comparison != ">=") return nullptr;
  const auto found =
      std::find_if(document.measurements.begin(), document.measurements.end(), [](const Measurement& measurement) {
        return measurement.metric.starts_with("p2p.") && !measurement.usable() && measurement.evidence.is_object() &&
               measurement.evidence.value("peer_access", json()) == false;
      });
  return found == document.measurements.end() ? nullptr : &*found;
}

Verdict no_peer_verdict(const Claim& claim, const Measurement& measurement) {
  Verdict verdict;
  verdict.claim = claim;
  verdict.kind = VerdictKind::not_met;
  verdict.measurement_id = measurement.id;
  verdict.reason = "no GPU reaches another's memory, so there is no rate between them: " + measurement.reason;
  verdict.diagnosis = {
      "`nvidia-smi topo -p2p r` says why. -> GeForce cards have no peer access over PCIe; else look at IOMMU, ACS and "
      "the virtual machine."};
  return verdict;
}

}  // namespace

Verdict numeric_verdict(const Document& document, const Claim& claim, const Catalog& catalog) {
  Verdict verdict;
  verdict.claim = claim;
  const Measurement* measurement = speaker(document, claim);
  if (measurement == nullptr)
    if (const Measurement* none = no_peer_access(document, claim)) return no_peer_verdict(claim, *none);
  if (measurement == nullptr || !claim.value.is_number()) {
    verdict.kind = VerdictKind::not_measured;
    verdict.reason = measurement == nullptr ? why_no_speaker(document, claim) : "the claim has no number";
    return verdict;
  }
  const double scale = node_factor(claim, *measurement);
  const Reading reading = reading_of(*measurement, scale);
  verdict.attained = reading.value;
  verdict.measurement_id = measurement->id;
  if (!reading.few_samples) verdict.interval = reading.interval;
  if (auto why = implausible(document, *measurement, catalog)) {
    verdict.kind = VerdictKind::implausible;
    verdict.reason = *why;
    verdict.diagnosis = {
        "The timer, the size or the amount of work was counted wrongly. -> Measure again; if it stays, "
        "report it with this result file."};
    return verdict;
  }
  const std::string limited = limited_by_size(*measurement);
  if (!limited.empty() && !claim.id.starts_with("user:")) {
    verdict.kind = VerdictKind::inconclusive;
    verdict.reason = fmt::format("{} says little: {}", quantity_text(reading.value, claim.unit), limited);
    return verdict;
  }
  const Accelerator* accelerator = accelerator_of(document, claim, *measurement, catalog);
  const Target target = target_of(claim, measurement->metric, accelerator, catalog);
  verdict.kind = decide(target.line, reading);
  verdict.claim.definition.erase("line");
  if (target.line.value != target.claimed) verdict.claim.definition["line"] = target.line.value;
  verdict.reason = reason(verdict.kind, target, reading, claim, *measurement);
  if (verdict.kind == VerdictKind::met) {
    if (const std::string why = not_all_measured(document, claim, *measurement); !why.empty()) {
      verdict.kind = VerdictKind::not_measured;
      verdict.reason += "; " + why;
    }
  }
  if (!limited.empty()) verdict.reason += "; this says little about the machine: " + limited;
  if (scale > 1) verdict.reason += fmt::format("; {:.0f} devices, each counted as the slowest", scale);
  if (verdict.kind == VerdictKind::met || verdict.kind == VerdictKind::not_measured) return verdict;
  if (verdict.kind == VerdictKind::not_met) {
    verdict.diagnosis = definition_mismatch(claim, *measurement, accelerator, platform_of(document, catalog));
    if (std::string slice = share_of_slice(document, claim, target.claimed, reading.value, catalog); !slice.empty())
      verdict.diagnosis.push_back(std::move(slice));
  }
  for (std::string& why : diagnose(document, *measurement)) verdict.diagnosis.push_back(std::move(why));
  return verdict;
}

}  // namespace claimcheck

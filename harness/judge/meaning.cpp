#include "harness/judge/meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "harness/judge/definition.h"
#include "harness/judge/identity.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

bool is_typical(const Verdict& verdict) { return text_at(verdict.claim.definition, "comparison") == "typical"; }

bool is_physics(const Verdict& verdict) { return text_at(verdict.claim.definition, "comparison") == "physics"; }

bool is_rate(const Verdict& verdict) {
  return !verdict.claim.metric.starts_with("identity.") && !verdict.claim.metric.starts_with("transport.");
}

bool is_decided(const Verdict& verdict) {
  return verdict.kind == VerdictKind::met || verdict.kind == VerdictKind::not_met ||
         verdict.kind == VerdictKind::contradicted;
}

// What healthy machines reach: their typical span, else the vendor's pass line.
struct Healthy {
  double low = 0, high = 0;
  double middle() const { return (low + high) / 2; }
};

std::optional<Healthy> healthy_of(const Verdict& typical) {
  for (const char* name : {"typical", "floor"}) {
    const auto span = typical.claim.definition.find(name);
    if (span == typical.claim.definition.end() || !span->is_array() || span->size() != 2) continue;
    if (!(*span)[0].is_number() || !(*span)[1].is_number()) continue;
    return Healthy{(*span)[0].get<double>(), (*span)[1].get<double>()};
  }
  return std::nullopt;
}

// About the same measurement, else about the same metric: a claim may be answered by another size.
const Verdict* typical_for(const Verdict& claim, const std::vector<Verdict>& verdicts) {
  const Verdict* same_metric = nullptr;
  for (const Verdict& other : verdicts) {
    if (!is_typical(other) || !is_decided(other) || !healthy_of(other)) continue;
    if (other.measurement_id == claim.measurement_id && other.claim.unit == claim.claim.unit) return &other;
    if (other.claim.metric == claim.claim.metric && same_metric == nullptr) same_metric = &other;
  }
  return same_metric;
}

// How many devices a claim of the node counts.
double devices_in(const Verdict& verdict, const Verdict& typical) {
  if (text_at(verdict.claim.definition, "per") != "node") return 1;
  if (!verdict.attained.is_number() || !typical.attained.is_number() || !(typical.attained.get<double>() > 0)) return 1;
  return verdict.attained.get<double>() / typical.attained.get<double>();
}

// Whether what healthy machines reach would meet the claim as printed, or for a peak as converted: a peak that is not
// met is below what healthy parts keep up, so they would meet it.
bool healthy_meet(const Verdict& verdict, const Healthy& healthy, double devices) {
  if (text_at(verdict.claim.definition, "kind") == "peak") {
    const double line = number_at(verdict.claim.definition, "/line").value_or(0);
    return line > 0 ? healthy.high >= line : true;
  }
  const double claimed = verdict.claim.value.get<double>() / counted_times(verdict.claim);
  if (verdict.claim.comparison == "<=") return healthy.low * devices <= claimed;
  if (verdict.claim.comparison == ">=") return healthy.high * devices >= claimed;
  return healthy.low * devices <= claimed && claimed <= healthy.high * devices;
}

std::string span_text(const Healthy& healthy, const std::string& unit) {
  if (healthy.low == healthy.high) return quantity_text(healthy.low, unit);
  if (unit == "1") return quantity_text(healthy.low, unit) + " to " + quantity_text(healthy.high, unit);
  return number_text(healthy.low) + " to " + quantity_text(healthy.high, unit);
}

json meaning(const char* kind, std::string text) { return {{"kind", kind}, {"text", std::move(text)}}; }

constexpr std::string_view do_return = "return it, or open a ticket with the numbers above";

json against_typical(const Verdict& verdict, const Verdict& typical) {
  const Healthy healthy = healthy_of(typical).value();
  const double devices = devices_in(verdict, typical);
  const bool slow = typical.kind == VerdictKind::not_met;
  const std::string reach = span_text(healthy, typical.claim.unit);
  const double share = typical.attained.get<double>() / healthy.middle();
  const std::string of_typical = share_text(share);
  const auto of_claim = share_of_claim(verdict);
  const std::string both = fmt::format("{} of the claim, {} of what healthy machines of this kind reach ({})",
                                       of_claim ? share_text(*of_claim) : "-", of_typical, reach);
  const bool met = verdict.kind == VerdictKind::met;
  const bool reachable = met || healthy_meet(verdict, healthy, devices);
  json result;
  if (met && !slow)
    result = meaning("as_sold", fmt::format("{}: the claim holds, and nothing is wrong with this machine.", both));
  else if (met)
    result = meaning("machine_slow", fmt::format("{}: the claim holds because it asks for little, but this machine is "
                                                 "slow; {}.",
                                                 both, do_return));
  else if (slow && reachable)
    result = meaning("machine_slow", fmt::format("{}: others meet the claim, so it is this machine that is sick; {}.",
                                                 both, do_return));
  else if (slow)
    result =
        meaning("slow_and_too_high", fmt::format("{}: the claim is marketing, and this machine is sick besides; {}, "
                                                 "and hold the next one to what healthy machines reach.",
                                                 both, do_return));
  else if (reachable)
    result =
        meaning("low_end", fmt::format("{}: healthy machines can meet the claim, and this one is at the low end of "
                                       "what they differ by; ask for another, or for a lower price.",
                                       both));
  else
    result =
        meaning("claim_too_high", fmt::format("{}: the claim is marketing, this machine is as good as others of its "
                                              "kind; keep it and argue the price.",
                                              both));
  result["of_typical"] = share;
  result["typical"] = {healthy.low, healthy.high};
  result["unit"] = typical.claim.unit;
  return result;
}

json without_typical(const Verdict& verdict) {
  if (verdict.kind == VerdictKind::met)
    return meaning("met", "The claim holds; what healthy machines of this kind reach is not known here.");
  return meaning("unknown",
                 "What healthy machines of this kind reach is not known under these conditions, so nobody can tell "
                 "a claim that is too high from a machine that is sick: measure a second machine of the same kind.");
}

json of_typical(const Verdict& verdict) {
  const auto healthy = healthy_of(verdict);
  const std::string reach = healthy ? span_text(*healthy, verdict.claim.unit) : "";
  if (verdict.kind == VerdictKind::met)
    return meaning("as_sold", fmt::format("As fast as healthy machines of this kind ({}).", reach));
  if (verdict.kind == VerdictKind::not_met)
    return meaning("machine_slow", fmt::format("Healthy machines of this kind reach {}: this one is sick, whatever the "
                                               "seller claims; {}.",
                                               reach, do_return));
  return meaning("open", "Too close to what healthy machines reach to tell: more repetitions would.");
}

json meaning_of(const Verdict& verdict, const std::vector<Verdict>& verdicts) {
  switch (verdict.kind) {
    case VerdictKind::implausible:
      return meaning("open", "The measurement is wrong, so it speaks neither for nor against seller or machine.");
    case VerdictKind::not_measured:
      return meaning("open", "Not measured, so it speaks neither for nor against seller or machine.");
    case VerdictKind::contradicted:
      return meaning("not_as_sold",
                     "The machine itself denies what was sold, whatever its speed: have it put right, or return it.");
    default:
      break;
  }
  if (is_physics(verdict)) return {};
  if (is_typical(verdict)) return of_typical(verdict);
  if (!is_rate(verdict)) {
    return verdict.kind == VerdictKind::not_met
               ? meaning("not_as_sold",
                         "What was promised was not used, by a setting or because it is not there: the "
                         "next step tells which.")
           : verdict.kind == VerdictKind::met ? meaning("as_sold", "This is as it was sold.")
                                              : meaning("open", "Stays open until the next step is done.");
  }
  if (verdict.kind == VerdictKind::inconclusive)
    return meaning("open", "Too close to the claim to tell: more repetitions would.");
  const Verdict* typical = typical_for(verdict, verdicts);
  json result = typical != nullptr ? against_typical(verdict, *typical) : without_typical(verdict);
  if (const auto share = share_of_claim(verdict)) result["of_claim"] = *share;
  return result;
}

// Names of the metrics whose verdict means `kinds`, each once.
std::vector<std::string> named(const std::vector<Verdict>& verdicts, const std::vector<std::string_view>& kinds,
                               bool typical) {
  std::vector<std::string> names;
  for (const Verdict& verdict : verdicts) {
    if (is_typical(verdict) != typical) continue;
    const std::string kind = text_at(verdict.meaning, "kind");
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
    const Metric* metric = find_metric(verdict.claim.metric);
    const std::string name = metric == nullptr ? identity_name(verdict.claim.metric) : metric->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> first(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(shown, names.size())));
  const std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(first, "; "), more);
}

// What measured figures say, worst first.
std::string meaning_of_speed(const std::vector<Verdict>& verdicts) {
  auto slow = named(verdicts, {"machine_slow"}, true);
  for (const std::string& name : named(verdicts, {"machine_slow", "slow_and_too_high"}, false))
    if (std::find(slow.begin(), slow.end(), name) == slow.end()) slow.push_back(name);
  const auto high = named(verdicts, {"claim_too_high", "slow_and_too_high"}, false);
  const auto low_end = named(verdicts, {"low_end"}, false);
  const auto unknown = named(verdicts, {"unknown"}, false);
  const auto healthy = named(verdicts, {"as_sold"}, true);
  if (!slow.empty() && !high.empty())
    return fmt::format(
        "This machine is sick (healthy ones of its kind are faster in {}), and a claim is marketing besides ({}): "
        "return "
        "it, and argue the price of the next.",
        list_text(slow), list_text(high));
  if (!slow.empty())
    return fmt::format("This machine is sick: healthy ones of its kind are faster in {}; return it or open a ticket.",
                       list_text(slow));
  if (!high.empty())
    return fmt::format(
        "The claim is marketing, the machine is not sick: no healthy one of its kind reaches what is claimed of {}; "
        "keep "
        "it and argue the price.",
        list_text(high));
  if (!low_end.empty())
    return fmt::format("This machine is at the low end of healthy ones in {}: ask for another, or for a lower price.",
                       list_text(low_end));
  if (!unknown.empty())
    return fmt::format(
        "Marketing or a sick machine, nobody can tell: what healthy machines reach is not known of {}; measure a "
        "second "
        "one.",
        list_text(unknown));
  if (!healthy.empty())
    return fmt::format("Nothing is wrong with this machine: as fast as healthy ones of its kind in {}.",
                       list_text(healthy));
  return {};
}

}  // namespace

void add_meanings(std::vector<Verdict>& verdicts) {
  for (Verdict& verdict : verdicts) verdict.meaning = meaning_of(verdict, verdicts);
}

std::string meaning_of_all(const std::vector<Verdict>& verdicts) {
  const std::string speed = meaning_of_speed(verdicts);
  const auto denied = named(verdicts, {"not_as_sold"}, false);
  if (denied.empty()) return speed;
  return fmt::format("It is not what was sold ({}): have it put right, or return it.{}{}", list_text(denied),
                     speed.empty() ? "" : " ", speed);
}

}  // namespace claimcheck

#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/definition.h"
#include "harness/judge/headline.h"
#include "harness/judge/identity.h"
#include "harness/judge/machine.h"
#include "harness/judge/meaning.h"
#include "harness/judge/number.h"
#include "harness/judge/numeric.h"
#include "harness/judge/physics.h"
#include "harness/judge/scaling.h"
#include "harness/judge/soak.h"
#include "harness/judge/transport_verdict.h"
#include "harness/report/quantity.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// Measurements above what their device can do, whether somebody claims anything about them or not.
std::vector<Verdict> physics_verdicts(const Document& document, const std::vector<Verdict>& others,
                                      const Catalog& catalog) {
  std::vector<Verdict> verdicts;
  for (const Measurement& measurement : document.measurements) {
    if (!measurement.usable() || !counts(document, measurement)) continue;
    const auto why = implausible(document, measurement, catalog);
    const bool said = std::any_of(others.begin(), others.end(), [&](const Verdict& other) {
      return other.kind == VerdictKind::implausible && other.measurement_id == measurement.id;
    });
    if (!why || said) continue;
    const Ceiling limit = ceiling(document, measurement, catalog).value();
    Verdict verdict;
    verdict.claim.id = "physics:" + measurement.id;
    verdict.claim.metric = measurement.metric;
    verdict.claim.comparison = "<=";
    verdict.claim.value = limit.value;
    verdict.claim.unit = measurement.unit;
    verdict.claim.definition = {{"comparison", "physics"}};
    verdict.claim.source = {{"from", "device"}, {"text", limit.basis}};
    verdict.kind = VerdictKind::implausible;
    verdict.attained = *measurement.value;
    verdict.reason = *why;
    verdict.measurement_id = measurement.id;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

bool open(const Verdict& verdict) {
  return verdict.kind == VerdictKind::inconclusive || verdict.kind == VerdictKind::not_measured ||
         verdict.kind == VerdictKind::implausible;
}

bool failed(const Verdict& verdict) {
  return verdict.kind == VerdictKind::not_met || verdict.kind == VerdictKind::contradicted;
}

bool by_user(const Verdict& verdict) { return verdict.claim.id.starts_with("user:"); }

// Some of them were asked for, and not one has an answer.
bool none_judged(const std::vector<Verdict>& verdicts, bool (*which)(const Verdict&)) {
  bool any = false;
  for (const Verdict& verdict : verdicts) {
    if (!which(verdict)) continue;
    any = true;
    if (!open(verdict)) return false;
  }
  return any;
}

bool has_outcome(const Document& document, std::initializer_list<Outcome> outcomes) {
  return std::any_of(document.measurements.begin(), document.measurements.end(), [&](const Measurement& measurement) {
    return std::find(outcomes.begin(), outcomes.end(), measurement.status) != outcomes.end();
  });
}

}  // namespace

const Platform* platform_of(const Document& document, const Catalog& catalog) {
  const std::string id = text_at(document.platform, "catalog_id");
  if (!id.empty()) return catalog.find_platform(id);
  const std::string instance = text_at(document.platform, "instance");
  if (instance.empty()) return nullptr;
  const std::string provider = text_at(document.platform, "provider");
  if (provider.empty() || instance.starts_with(provider + ":")) return catalog.find_platform(instance);
  return catalog.find_platform(provider + ":" + instance);
}

std::vector<Verdict> judge(const Document& document, const std::vector<Claim>& claims, const Catalog& catalog) {
  std::vector<Verdict> verdicts;
  verdicts.reserve(claims.size());
  for (const Claim& claim : claims) {
    if (claim.metric.starts_with("identity."))
      verdicts.push_back(identity_verdict(document, claim, catalog));
    else if (claim.metric.starts_with("transport."))
      verdicts.push_back(transport_verdict(document, claim, catalog));
    else
      verdicts.push_back(numeric_verdict(document, claim, catalog));
  }
  return verdicts;
}

std::vector<Verdict> all_verdicts(const Document& document, const std::vector<Claim>& user_claims,
                                  const Catalog& catalog) {
  std::vector<Claim> claims = user_claims;
  if (const Platform* platform = platform_of(document, catalog)) {
    for (Claim& claim : platform_claims(*platform, catalog)) claims.push_back(std::move(claim));
  }
  std::vector<Verdict> verdicts = judge(document, claims, catalog);
  for (Verdict& verdict : expected_verdicts(document, catalog)) verdicts.push_back(std::move(verdict));
  for (Verdict& verdict : scaling_verdicts(document)) verdicts.push_back(std::move(verdict));
  for (Verdict& verdict : soak_verdicts(document)) verdicts.push_back(std::move(verdict));
  for (Verdict& verdict : physics_verdicts(document, verdicts, catalog)) verdicts.push_back(std::move(verdict));
  add_meanings(verdicts);
  return verdicts;
}

std::optional<double> share_of_claim(const Verdict& verdict) {
  if (!verdict.attained.is_number() || !verdict.claim.value.is_number()) return std::nullopt;
  if (verdict.claim.metric.starts_with("identity.") || verdict.claim.metric.starts_with("transport."))
    return std::nullopt;
  const double claimed = verdict.claim.value.get<double>() / counted_times(verdict.claim);
  if (claimed == 0) return std::nullopt;
  return verdict.attained.get<double>() / claimed;
}

ExitCode exit_code(const std::vector<Verdict>& verdicts, const Document& document, bool strict) {
  if (std::any_of(verdicts.begin(), verdicts.end(), failed)) return ExitCode::not_met;
  if (has_outcome(document, {Outcome::wrong_result})) return ExitCode::incomplete;
  if (none_judged(verdicts, by_user) || none_judged(verdicts, [](const Verdict&) { return true; })) {
    return ExitCode::incomplete;
  }
  if (!strict) return ExitCode::ok;
  const std::string status = text_at(document.run, "status");
  const bool whole = status.empty() || status == "complete";
  const bool lost = has_outcome(document, {Outcome::unstable, Outcome::timed_out, Outcome::crashed, Outcome::failed});
  return !whole || lost || std::any_of(verdicts.begin(), verdicts.end(), open) ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace claimcheck

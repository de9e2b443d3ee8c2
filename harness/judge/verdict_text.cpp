// Verdicts as a person reads them: one line each, then why and what to do next.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/judge/claim.h"
#include "harness/judge/identity.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/verdict_rows.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

constexpr std::size_t width = 100;

bool is_typical(const Verdict& verdict) { return text_at(verdict.claim.definition, "comparison") == "typical"; }

bool is_user(const Verdict& verdict) { return verdict.claim.id.starts_with("user:"); }

std::string origin(const Verdict& verdict) {
  const std::string& id = verdict.claim.id;
  if (is_user(verdict)) return "yours";
  if (id.starts_with("data_sheet:")) return "data sheet";
  if (id.starts_with("expected:")) return "typical";
  return id.substr(0, id.find(':'));
}

std::string metric_name(const Claim& claim) {
  if (find_metric(claim.metric) == nullptr) return identity_name(claim.metric);
  std::string name = find_metric(claim.metric)->name;
  const auto conditions = claim.definition.find("conditions");
  if (claim.id.starts_with("user:") && conditions != claim.definition.end() && conditions->is_object()) {
    for (const auto& [key, value] : conditions->items()) name += fmt::format(", {} {}", key, value_text(value));
  }
  if (flag_at(claim.definition, "sparse")) name += ", sparse";
  if (text_at(claim.definition, "direction") == "both") name += ", both ways";
  if (text_at(claim.definition, "per") == "node") name += ", per node";
  return name;
}

std::string row_name(const Verdict& verdict) {
  return fmt::format("{} ({})", metric_name(verdict.claim), origin(verdict));
}

std::string claimed_cell(const Verdict& verdict) {
  if (is_typical(verdict)) return "-";
  const Claim& claim = verdict.claim;
  const bool strictly = flag_at(claim.definition, "strictly");
  std::string sign;
  if (claim.comparison == "<=") sign = strictly ? "< " : "<= ";
  if (claim.comparison == ">=" && strictly) sign = "> ";
  if (claim.comparison == "==" && is_user(verdict)) sign = "= ";
  return sign + claimed_text(claim.value, claim.unit);
}

std::string measured_cell(const Verdict& verdict) {
  if (verdict.attained.is_null()) return "-";
  if (!verdict.attained.is_number()) return value_text(verdict.attained);
  const double value = verdict.attained.get<double>();
  return verdict.claim.unit.empty() ? exact_text(value) : quantity_text(value, verdict.claim.unit);
}

std::string share_cell(const Verdict& verdict) {
  const auto share = is_typical(verdict) ? std::nullopt : share_of_claim(verdict);
  return share ? share_text(*share) : "";
}

std::string span_text(const nlohmann::json& span, const std::string& unit) {
  if (!span.is_array() || span.size() != 2 || !span[0].is_number() || !span[1].is_number()) return {};
  const double low = span[0].get<double>();
  const double high = span[1].get<double>();
  if (unit == "1") return share_text(low);
  return low == high ? number_text(low) : number_text(low) + "-" + number_text(high);
}

std::string typical_cell(const Verdict& verdict, const std::vector<Verdict>& verdicts) {
  for (const Verdict& other : verdicts) {
    if (!is_typical(other) || other.claim.metric != verdict.claim.metric) continue;
    const auto typical = other.claim.definition.find("typical");
    if (typical != other.claim.definition.end()) return span_text(*typical, other.claim.unit);
    const auto floor = other.claim.definition.find("floor");
    if (floor != other.claim.definition.end()) return ">= " + span_text(*floor, other.claim.unit);
  }
  return {};
}

std::string kind_cell(const Verdict& verdict) {
  if (is_typical(verdict) && verdict.kind == VerdictKind::met) return "as typical";
  if (is_typical(verdict) && verdict.kind == VerdictKind::not_met) {
    return verdict.claim.comparison == "<=" ? "high" : "low";
  }
  std::string word(to_string(verdict.kind));
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

bool needs_reason(const Verdict& verdict) {
  return verdict.kind != VerdictKind::met && verdict.kind != VerdictKind::not_measured;
}

std::string sentence(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

// Failures, of which the buyer asks whose they are.
bool is_decided(const Verdict& verdict) {
  return verdict.kind == VerdictKind::not_met || verdict.kind == VerdictKind::contradicted;
}

// A cause that several claims share is said once.
std::string reasons(const std::vector<Verdict>& verdicts) {
  std::string text;
  std::set<std::string> said;
  for (const Verdict& verdict : verdicts) {
    if (!needs_reason(verdict)) continue;
    text += labelled(" ", sentence(fmt::format("{}: {}", row_name(verdict), verdict.reason)), 1, width);
    const std::string means = is_decided(verdict) ? text_at(verdict.meaning, "text") : "";
    if (!means.empty() && said.insert(means).second) text += labelled("", means, 3, width);
    for (const std::string& why : verdict.diagnosis) {
      if (!said.insert(why).second) continue;
      const std::size_t arrow = why.find(" -> ");
      text += labelled("", why.substr(0, arrow), 3, width);
      if (arrow != std::string::npos) text += labelled("   ->", why.substr(arrow + 4), 6, width);
    }
  }
  return text.empty() ? text : "WHY\n" + text;
}

// Claims that share a reason share a line: a data sheet has many figures.
std::string left_open(const std::vector<Verdict>& verdicts) {
  std::vector<std::pair<std::string, std::string>> by_reason;
  for (const Verdict& verdict : verdicts) {
    if (verdict.kind != VerdictKind::not_measured) continue;
    const auto found = std::find_if(by_reason.begin(), by_reason.end(),
                                    [&](const auto& entry) { return entry.first == verdict.reason; });
    if (found == by_reason.end()) {
      by_reason.emplace_back(verdict.reason, row_name(verdict));
    } else {
      found->second += "; " + row_name(verdict);
    }
  }
  std::string text;
  for (const auto& [reason, names] : by_reason) {
    text += labelled(" ", sentence(fmt::format("{}: {}", names, reason)), 1, width);
  }
  return text.empty() ? text : "NOT MEASURED\n" + text;
}

std::string plural(std::size_t count, const std::string& one, const std::string& many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

struct Tally {
  std::size_t all = 0, met = 0, not_met = 0, contradicted = 0, inconclusive = 0, not_measured = 0, implausible = 0;
  std::size_t low = 0;  // typical values
  bool sold = false;    // something the seller or a data sheet says does not hold
};

Tally tally_of(const std::vector<Verdict>& verdicts) {
  Tally tally;
  for (const Verdict& verdict : verdicts) {
    if (is_typical(verdict)) {
      if (verdict.kind == VerdictKind::not_met) ++tally.low;
      continue;
    }
    if (!verdict.claim.id.starts_with("physics:")) ++tally.all;
    switch (verdict.kind) {
      case VerdictKind::met:
        ++tally.met;
        break;
      case VerdictKind::not_met:
        ++tally.not_met;
        break;
      case VerdictKind::contradicted:
        ++tally.contradicted;
        break;
      case VerdictKind::inconclusive:
        ++tally.inconclusive;
        break;
      case VerdictKind::not_measured:
        ++tally.not_measured;
        break;
      case VerdictKind::implausible:
        ++tally.implausible;
        break;
    }
    const bool fails = verdict.kind == VerdictKind::not_met || verdict.kind == VerdictKind::contradicted;
    if (fails && !is_user(verdict)) tally.sold = true;
  }
  return tally;
}

std::string opening(const Tally& tally) {
  const std::size_t judged = tally.met + tally.not_met + tally.contradicted;
  const std::size_t fails = tally.not_met + tally.contradicted;
  if (fails > 0) {
    return fmt::format("{}: {} of {} not met", tally.sold ? "Not what was sold" : "Not as claimed", fails,
                       plural(tally.all, "claim is", "claims are"));
  }
  if (tally.all == 0) return "No claim was judged";
  if (judged == 0)
    return fmt::format("Nothing could be judged: 0 of {} answered", plural(tally.all, "claim is", "claims are"));
  if (judged == tally.all) return tally.all == 1 ? "The claim is met" : fmt::format("All {} claims are met", tally.all);
  return fmt::format("{} of {} met, none is missed", tally.met, plural(tally.all, "claim is", "claims are"));
}

}  // namespace

std::string summary(const std::vector<Verdict>& verdicts) {
  const Tally tally = tally_of(verdicts);
  std::string text = opening(tally);
  if (tally.inconclusive > 0) text += fmt::format(", {} inconclusive", tally.inconclusive);
  if (tally.not_measured > 0) text += fmt::format(", {} not measured", tally.not_measured);
  if (tally.implausible > 0) text += fmt::format(", {} implausible (a measurement error)", tally.implausible);
  text += ".";
  if (tally.low > 0) {
    text +=
        fmt::format(" {} worse than on healthy machines of this kind.", plural(tally.low, "figure is", "figures are"));
  }
  return text;
}

namespace {

// Whose promises stand below.
std::string group_name(const Verdict& verdict) {
  const std::string from = origin(verdict);
  if (from == "yours") return "your claims";
  if (from == "platform") return "what was sold: " + text_at(verdict.claim.definition, "platform");
  if (from == "data sheet") {
    return fmt::format("data sheet of one {}", text_at(verdict.claim.definition, "accelerator_name"));
  }
  if (from == "typical") return "typical of healthy machines";
  return from == "physics" ? "what the device can do at most" : from;
}

}  // namespace

bool has_row(const Verdict& verdict, const std::vector<Verdict>& all) {
  if (!is_typical(verdict) || verdict.kind != VerdictKind::met) return true;
  return std::none_of(all.begin(), all.end(), [&](const Verdict& other) {
    return !is_typical(other) && other.claim.metric == verdict.claim.metric;
  });
}

VerdictRow verdict_row(const Verdict& verdict, const std::vector<Verdict>& all) {
  return {group_name(verdict), metric_name(verdict.claim), claimed_cell(verdict), measured_cell(verdict),
          share_cell(verdict), typical_cell(verdict, all), kind_cell(verdict)};
}

namespace {

// The name gets the columns that the others leave; an empty column takes none.
std::string verdict_table(const std::vector<Verdict>& verdicts) {
  const std::vector<std::string> headings = {"claim", "claimed", "measured", "of claim", "typical", "verdict"};
  const std::vector<std::size_t> most = {0, 20, 15, 8, 11, 13};
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> groups;
  for (const Verdict& verdict : verdicts) {
    if (!has_row(verdict, verdicts)) continue;
    const VerdictRow row = verdict_row(verdict, verdicts);
    rows.push_back({row.name, row.claimed, row.measured, row.share, row.typical, row.verdict});
    groups.push_back(row.group);
  }
  std::vector<std::size_t> used;  // columns with something in them
  std::size_t taken = 1;
  for (std::size_t i = 0; i < headings.size(); ++i) {
    std::size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, display_width(row[i]));
    if (widest == 0) continue;
    used.push_back(i);
    if (i > 0) taken += 2 + std::min(most[i], std::max(widest, display_width(headings[i])));
  }
  std::vector<Table::Column> columns;
  columns.reserve(used.size());
  for (const std::size_t i : used) columns.push_back({headings[i], i > 0 && i < 5, i == 0 ? width - taken : most[i]});
  Table table(columns);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r == 0 || groups[r] != groups[r - 1]) table.note(groups[r], 1);
    std::vector<Table::Cell> cells;
    cells.reserve(used.size());
    for (const std::size_t i : used) cells.push_back({(i == 0 ? "  " : "") + rows[r][i]});
    table.add(std::move(cells));
  }
  return table.render(width, false);
}

}  // namespace

std::string verdicts_text(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return {};
  std::string text = verdict_table(verdicts);
  for (const std::string& part : {reasons(verdicts), left_open(verdicts)}) {
    if (!part.empty()) text += "\n" + part;
  }
  return text;
}

}  // namespace claimcheck

// For a pull-request comment or a job summary: the verdict, claims that are not met first, what was found, money.
// GitHub cuts a comment at 65,536 characters, so everything measured stays out.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cost/money.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/meaning.h"
#include "harness/judge/verdict_rows.h"
#include "harness/report/format.h"
#include "harness/report/header.h"
#include "harness/report/markdown_text.h"
#include "harness/report/quantity.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

using nlohmann::json;

std::string icon(const Verdict& verdict) {
  switch (verdict.kind) {
    case VerdictKind::met:
      return ":white_check_mark:";
    case VerdictKind::not_met:
    case VerdictKind::contradicted:
      return ":x:";
    default:
      return ":grey_question:";
  }
}

bool is_failure(const Verdict& verdict) {
  return verdict.kind == VerdictKind::not_met || verdict.kind == VerdictKind::contradicted;
}

std::string row_text(const Verdict& verdict, const std::vector<Verdict>& all) {
  const VerdictRow row = verdict_row(verdict, all);
  return fmt::format("| {} {} | {} | {} | {} | {} | {} |\n", icon(verdict), markdown_text(row.verdict),
                     markdown_text(row.name), markdown_text(row.claimed), markdown_text(row.measured),
                     markdown_text(row.share), markdown_text(row.typical));
}

// What went wrong before what is right, else in their order.
std::vector<const Verdict*> by_weight(const std::vector<Verdict>& verdicts) {
  const auto weight = [](const Verdict* verdict) {
    switch (verdict->kind) {
      case VerdictKind::not_met:
      case VerdictKind::contradicted:
        return 0;
      case VerdictKind::implausible:
      case VerdictKind::inconclusive:
        return 1;
      case VerdictKind::met:
        return 2;
      default:
        return 3;
    }
  };
  std::vector<const Verdict*> sorted;
  for (const Verdict& verdict : verdicts)
    if (has_row(verdict, verdicts)) sorted.push_back(&verdict);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Verdict* a, const Verdict* b) { return weight(a) < weight(b); });
  return sorted;
}

std::string claims_text(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return {};
  std::string table =
      "\n| verdict | claim | claimed | measured | of claim | typical |\n|---|---|---:|---:|---:|---:|\n";
  std::string why;
  std::size_t open = 0;
  for (const Verdict* verdict : by_weight(verdicts)) {
    if (verdict->kind == VerdictKind::not_measured) {
      ++open;
      continue;
    }
    table += row_text(*verdict, verdicts);
    if (verdict->kind == VerdictKind::met) continue;
    why += fmt::format("- **{}**: {}\n", markdown_text(verdict_row(*verdict, verdicts).name),
                       markdown_text(verdict->reason));
    if (const std::string means = text_at(verdict->meaning, "text"); is_failure(*verdict) && !means.empty())
      why += fmt::format("  - {}\n", markdown_text(means));
    for (const std::string& line : verdict->diagnosis) why += fmt::format("  - {}\n", markdown_text(line));
  }
  if (open > 0) table += fmt::format("\n{} more could not be judged here.\n", open);
  return table + (why.empty() ? "" : "\n#### Why\n\n" + why);
}

std::string cost_text_of(const json& cost) {
  if (!cost.is_object()) return {};
  std::string text;
  for (const json& result : objects_at(cost, "results")) {
    const json useful = result.value("useful", json());
    const auto rate = number_at(result, "/per_eflop");
    if (!useful.is_object() || !rate) continue;
    const std::string currency = text_at(result, "currency");
    text += fmt::format("\n**Cost**: {} per useful EFLOP ({})", markdown_text(money_text(*rate, currency)),
                        markdown_text(text_at(useful, "basis")));
    if (const auto claimed = number_at(result, "/claimed_per_eflop"))
      text += fmt::format("; {} if the data sheet were true", markdown_text(money_text(*claimed, currency)));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string render_markdown(const Document& original, const ReportOptions&) {
  const Document document = sanitised(original);
  std::string text = "### claimcheck: " +
                     markdown_text(document.verdicts.empty() ? "nothing was judged" : summary(document.verdicts)) +
                     "\n\n";
  if (const std::string means = meaning_of_all(document.verdicts); !means.empty())
    text += markdown_text(means) + "\n\n";
  for (const report::HeaderLine& line : report::header_lines(document)) {
    if (is_warning(line)) text += fmt::format("> **{}** {}\n\n", line.heading, markdown_text(line.content));
    if (line.heading == "machine" || line.heading == "run") text += markdown_text(line.content) + "  \n";
  }
  text += claims_text(document.verdicts);
  std::string found;
  for (const Finding& finding : document.findings) {
    if (finding.severity == "info") continue;
    found += fmt::format("- {}: {}", finding.severity, markdown_text(finding.text));
    if (!finding.cause.empty()) found += fmt::format("<br>Likely: {}", markdown_text(finding.cause));
    found += finding.next_step.empty() ? "\n" : fmt::format("<br>**{}**\n", markdown_text(finding.next_step));
  }
  if (!found.empty()) text += "\n#### Found on this machine\n\n" + found;
  return text + cost_text_of(document.cost);
}

}  // namespace claimcheck

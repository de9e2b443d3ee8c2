// Verdict, claims and findings.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/meaning.h"
#include "harness/judge/verdict_rows.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/sections.h"

namespace claimcheck::report {
namespace {

// good, bad or open: the colour of a verdict, which its word says too.
std::string tone(VerdictKind kind) {
  if (kind == VerdictKind::met) return "good";
  return kind == VerdictKind::not_met || kind == VerdictKind::contradicted ? "bad" : "open";
}

std::string tone(const Document& document) {
  if (document.verdicts.empty()) return "open";
  switch (exit_code(document.verdicts, document, false)) {
    case ExitCode::ok:
      return "good";
    case ExitCode::not_met:
      return "bad";
    default:
      return "open";
  }
}

// "-> what to do" behind what was seen.
std::string diagnosis_html(const std::string& text) {
  const std::size_t arrow = text.find(" -> ");
  if (arrow == std::string::npos) return element("li", text);
  return wrapped_in(
      "li", escaped(text.substr(0, arrow)) + "<br>" + element("span", text.substr(arrow + 4), "class=\"next-step\""));
}

std::string why_html(const Verdict& verdict) {
  std::string html = element("span", verdict.reason);
  std::string list;
  if (tone(verdict.kind) == "bad") {
    if (const std::string means = text_at(verdict.meaning, "text"); !means.empty()) list += element("li", means);
  }
  for (const std::string& line : verdict.diagnosis) list += diagnosis_html(line);
  if (!list.empty()) html += wrapped_in("ul", list);
  if (!verdict.measurement_id.empty())
    html += element("p", "decided by " + verdict.measurement_id, "class=\"evidence\"");
  return html;
}

std::string row_html(const Verdict& verdict, const VerdictRow& row) {
  std::string cells = element("th", row.name, "scope=\"row\"");
  cells += element("td", row.claimed, "class=\"number\"") + element("td", row.measured, "class=\"number\"");
  cells += element("td", row.share, "class=\"number\"") + element("td", row.typical, "class=\"number\"");
  cells += wrapped_in("td", element("span", row.verdict, fmt::format("class=\"pill {}\"", tone(verdict.kind))));
  std::string html = wrapped_in(
      "tr", cells,
      fmt::format("data-claim=\"{}\" data-verdict=\"{}\"", escaped(verdict.claim.id), to_string(verdict.kind)));
  if (verdict.kind == VerdictKind::met || verdict.reason.empty()) return html;
  return html + wrapped_in("tr", wrapped_in("td", why_html(verdict), "colspan=\"6\""), "class=\"why\"");
}

}  // namespace

std::string verdict_html(const Document& document) {
  const std::string text =
      document.verdicts.empty()
          ? "Nothing was judged: no claim was given, and the catalog promises nothing for this machine."
          : summary(document.verdicts);
  const std::string means = meaning_of_all(document.verdicts);
  return wrapped_in(
      "section",
      element("h1", text, "id=\"verdict-text\"") + (means.empty() ? "" : element("p", means, "id=\"meaning\"")),
      fmt::format("id=\"verdict\" class=\"verdict {}\" tabindex=\"-1\"", tone(document)));
}

std::string claims_html(const Document& document) {
  if (document.verdicts.empty()) return {};
  std::string head;
  for (const char* name : {"claim", "claimed", "measured", "of claim", "typical", "verdict"})
    head += element("th", name, "scope=\"col\"");
  std::string body;
  std::string group;
  for (const Verdict& verdict : document.verdicts) {
    if (!has_row(verdict, document.verdicts)) continue;
    const VerdictRow row = verdict_row(verdict, document.verdicts);
    if (row.group != group) {
      group = row.group;
      body += wrapped_in("tr", element("th", group, "colspan=\"6\" scope=\"rowgroup\""), "class=\"group\"");
    }
    body += row_html(verdict, row);
  }
  return wrapped_in(
      "div",
      wrapped_in("table", wrapped_in("thead", wrapped_in("tr", head)) + wrapped_in("tbody", body), "class=\"claims\""),
      "class=\"wide\"");
}

std::string findings_html(const Document& document) {
  std::string html;
  for (const Finding& finding : document.findings) {
    std::string item = element("span", finding.severity,
                               fmt::format("class=\"pill {}\"", finding.severity == "info" ? "open" : "bad")) +
                       " " + escaped(finding.text);
    if (!finding.cause.empty()) item += "<br>" + element("span", "Likely: " + finding.cause, "class=\"cause\"");
    if (!finding.next_step.empty()) item += "<br>" + element("span", finding.next_step, "class=\"next-step\"");
    html += wrapped_in("li", item, fmt::format("data-finding=\"{}\"", escaped(finding.id)));
  }
  return html.empty() ? html : wrapped_in("ul", html, "class=\"findings\"");
}

}  // namespace claimcheck::report

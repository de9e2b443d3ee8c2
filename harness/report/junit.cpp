// JUnit XML as Jenkins, GitLab and GitHub's actions read it: a case for each claim. Not met and contradicted are
// failures, implausible is an error, and what could not be judged is skipped, never passed.
#include <fmt/format.h>

#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/verdict_rows.h"
#include "harness/report/annotations.h"
#include "harness/report/format.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

std::string xml(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string child(std::string_view name, const Verdict& verdict) {
  std::string body = verdict.reason;
  if (const std::string means = text_at(verdict.meaning, "text"); !means.empty()) body += "\n" + means;
  for (const std::string& line : verdict.diagnosis) body += "\n" + line;
  return fmt::format("      <{0} message=\"{1}\">{2}</{0}>\n", name, xml(verdict.reason), xml(body));
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
};

std::string case_text(const Verdict& verdict, const std::vector<Verdict>& all, Counts& counts) {
  const VerdictRow row = verdict_row(verdict, all);
  ++counts.tests;
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", xml(row.group),
                                 xml(fmt::format("{} [{}]", row.name, verdict.claim.id)));
  switch (verdict.kind) {
    case VerdictKind::met:
      break;
    case VerdictKind::not_met:
    case VerdictKind::contradicted:
      ++counts.failures;
      text += child("failure", verdict);
      break;
    case VerdictKind::implausible:
      ++counts.errors;
      text += child("error", verdict);
      break;
    case VerdictKind::inconclusive:
    case VerdictKind::not_measured:
      ++counts.skipped;
      text += fmt::format("      <skipped message=\"{}\"/>\n", xml(verdict.reason));
      break;
  }
  return text + fmt::format("      <system-out>claimed {}, measured {}</system-out>\n    </testcase>\n",
                            xml(row.claimed), xml(row.measured));
}

// What was found on the machine belongs to no claim: text of the suite. CI servers show it beside the cases.
std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.severity != "info") text += fmt::format("{}: {}\n", finding.severity, finding_sentences(finding));
  }
  return text.empty() ? "" : fmt::format("    <system-out>{}</system-out>\n", xml(text));
}

}  // namespace

std::string render_junit(const Document& original, const ReportOptions&) {
  const Document document = sanitised(original);
  Counts counts;
  std::string cases;
  for (const Verdict& verdict : document.verdicts) cases += case_text(verdict, document.verdicts, counts);
  const std::string numbers = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", counts.tests,
                                          counts.failures, counts.errors, counts.skipped);
  const auto seconds = number_at(document.run, "/measuring_seconds").value_or(0);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"claimcheck\" {0}>\n"
      "  <testsuite name=\"claims\" {0} time=\"{1:.3f}\" timestamp=\"{2}\">\n"
      "    <properties>\n      <property name=\"instance\" value=\"{3}\"/>\n"
      "      <property name=\"status\" value=\"{4}\"/>\n"
      "      <property name=\"virtual\" value=\"{5}\"/>\n    </properties>\n{6}{7}  </testsuite>\n</testsuites>\n",
      numbers, seconds, xml(text_at(document.run, "started")), xml(text_at(document.platform, "instance")),
      xml(text_at(document.run, "status")), document.is_virtual, cases, findings_text(document.findings));
}

}  // namespace claimcheck

// Render: unmet claims and findings of a result. Format: "Workflow commands for GitHub Actions", docs.github.com.
#include "harness/report/annotations.h"

#include <fmt/format.h>

#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

constexpr std::size_t shown_by_github = 10;

std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string line(const Annotation& annotation) {
  return fmt::format("::{} title={}::{}\n", annotation.level, escaped(annotation.title, true),
                     escaped(annotation.text, false));
}

void add_verdict(const Verdict& verdict, std::vector<Annotation>& annotations) {
  std::string level;
  switch (verdict.kind) {
    case VerdictKind::met:
      return;
    case VerdictKind::not_met:
    case VerdictKind::contradicted:
    case VerdictKind::implausible:
      level = "error";
      break;
    default:
      // What a data sheet promises and nobody measured is told by the report; a claim of one's own is asked for.
      if (!verdict.claim.id.starts_with("user:")) return;
      level = "warning";
  }
  std::string text = fmt::format("{}: {}", to_string(verdict.kind), verdict.reason);
  if (!verdict.diagnosis.empty()) text += " " + verdict.diagnosis.front();
  annotations.push_back({level, "claim " + verdict.claim.metric, text});
}

}  // namespace

std::string finding_sentences(const Finding& finding) {
  std::string text = finding.text;
  if (!finding.cause.empty()) text += " Likely: " + finding.cause;
  if (!finding.next_step.empty()) text += " -> " + finding.next_step;
  return text;
}

std::string annotation_lines(const std::vector<Annotation>& annotations) {
  std::string lines;
  for (const char* level : {"error", "warning", "notice"}) {
    std::vector<const Annotation*> some;
    for (const Annotation& annotation : annotations) {
      if (annotation.level == level) some.push_back(&annotation);
    }
    for (std::size_t i = 0; i < some.size() && i < shown_by_github; ++i) {
      const std::size_t more = some.size() - shown_by_github + 1;
      const bool last = some.size() > shown_by_github && i + 1 == shown_by_github;
      lines += last ? line({level, "claimcheck", fmt::format("and {} more; the summary has them all", more)})
                    : line(*some[i]);
    }
  }
  return lines;
}

std::string render_annotations(const Document& original, const ReportOptions&) {
  const Document document = sanitised(original);
  std::vector<Annotation> annotations;
  for (const Verdict& verdict : document.verdicts) add_verdict(verdict, annotations);
  for (const Finding& finding : document.findings) {
    if (finding.severity == "info") continue;
    annotations.push_back({finding.severity, finding.id, finding_sentences(finding)});
  }
  const nlohmann::json status = document.run.value("status", nlohmann::json());
  if (status.is_string() && status != "complete") {
    const nlohmann::json reason = document.run.value("reason", nlohmann::json());
    annotations.push_back({"warning", "run " + status.get<std::string>(),
                           reason.is_string() ? reason.get<std::string>() : "no reason is given"});
  }
  return annotation_lines(annotations);
}

}  // namespace claimcheck

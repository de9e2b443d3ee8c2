// What a preflight says: for a terminal, for a job summary, for programs.
#include <fmt/format.h>

#include <algorithm>

#include "harness/compare/comparable.h"
#include "harness/preflight/preflight.h"
#include "harness/report/layout.h"
#include "harness/report/markdown_text.h"
#include "harness/report/quantity.h"

namespace claimcheck::preflight {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t indent = 10;

std::vector<const Finding*> of(const Answer& answer, std::string_view severity) {
  std::vector<const Finding*> found;
  for (const Finding& finding : answer.document.findings) {
    if (finding.severity == severity) found.push_back(&finding);
  }
  return found;
}

// Errors first.
std::vector<const Finding*> sorted(const Answer& answer) {
  std::vector<const Finding*> all;
  for (const char* severity : {"error", "warning", "info"}) {
    const auto some = of(answer, severity);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::string load_text(const Measurement& measurement) {
  if (!measurement.value) return fmt::format("{}: {}", measurement.id, to_string(measurement.status));
  return fmt::format("{} {} (cv {})", measurement.id, quantity_text(*measurement.value, measurement.unit),
                     percent_text(measurement.statistics ? measurement.statistics->cv : 0));
}

std::string counted(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

}  // namespace

bool is_fit(const Answer& answer, bool strict) {
  return of(answer, "error").empty() && !(strict && !of(answer, "warning").empty());
}

ExitCode exit_code(const Answer& answer, bool strict) {
  return is_fit(answer, strict) ? ExitCode::ok : ExitCode::incomplete;
}

std::string verdict_sentence(const Answer& answer, bool strict) {
  const auto errors = of(answer, "error");
  const auto warnings = of(answer, "warning");
  const auto more = [](std::size_t count) { return count == 0 ? "" : fmt::format(" And {} more below.", count); };
  if (!errors.empty()) return "Not fit to benchmark: " + errors.front()->text + more(errors.size() - 1);
  if (warnings.empty()) return "Fit to benchmark.";
  if (strict) return "Not fit to benchmark with --strict: " + warnings.front()->text + more(warnings.size() - 1);
  return fmt::format("Fit to benchmark, with {} to know of.", counted(warnings.size(), "thing", "things"));
}

std::string answer_text(const Answer& answer, bool strict, bool colour) {
  const std::string verdict = labelled("VERDICT", verdict_sentence(answer, strict), indent, width);
  std::string text = paint("VERDICT", is_fit(answer, strict) ? Colour::good : Colour::bad, colour) + verdict.substr(7);
  text += labelled("devices", compare::devices_text(answer.document), indent, width);
  if (answer.document.is_virtual) {
    text += labelled("", "Virtual devices of the test suite: no real machine.", indent, width);
  }
  std::string loads;
  for (const Measurement& measurement : answer.document.measurements) {
    loads += (loads.empty() ? "" : "; ") + load_text(measurement);
  }
  text += labelled("load", loads.empty() ? "none: no benchmark here is short enough" : loads, indent, width);
  text += labelled("took", fmt::format("{:.0f} s", answer.seconds), indent, width);
  for (const Finding* finding : sorted(answer)) {
    text += labelled(fmt::format("  {}", finding->severity), finding->text, 11, width);
    if (!finding->cause.empty()) text += labelled("           likely", finding->cause, 18, width);
    if (!finding->next_step.empty()) text += labelled("           ->", finding->next_step, 14, width);
  }
  return text;
}

std::string answer_markdown(const Answer& answer, bool strict) {
  std::string text = "### claimcheck preflight\n\n";
  if (answer.document.is_virtual) text += "> Virtual devices of the test suite: no real machine.\n\n";
  text += fmt::format("**{}**\n\n{}, {:.0f} s.\n", markdown_text(verdict_sentence(answer, strict)),
                      markdown_text(compare::devices_text(answer.document)), answer.seconds);
  const auto findings = sorted(answer);
  if (!findings.empty()) text += "\n| | found | likely | next |\n|---|---|---|---|\n";
  for (const Finding* finding : findings) {
    text += fmt::format("| {} | {} | {} | {} |\n", finding->severity, markdown_text(finding->text),
                        markdown_text(finding->cause), markdown_text(finding->next_step));
  }
  return text;
}

nlohmann::json answer_json(const Answer& answer, bool strict) {
  nlohmann::json findings = nlohmann::json::array();
  for (const Finding* finding : sorted(answer)) findings.push_back(to_json(*finding));
  nlohmann::json measurements = nlohmann::json::array();
  for (const Measurement& measurement : answer.document.measurements) measurements.push_back(to_json(measurement));
  return {{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
          {"fit", is_fit(answer, strict)},
          {"verdict", verdict_sentence(answer, strict)},
          {"virtual", answer.document.is_virtual},
          {"devices", compare::devices_text(answer.document)},
          {"worker", answer.document.run["worker"]},
          {"seconds", answer.seconds},
          {"findings", std::move(findings)},
          {"measurements", std::move(measurements)},
          {"exit_code", static_cast<int>(exit_code(answer, strict))}};
}

}  // namespace claimcheck::preflight

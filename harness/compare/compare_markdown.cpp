// The answer as a comment of a pull request or the summary of a job: GitHub's Markdown, with nothing in it that a
// result file could turn into links, mentions or HTML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/compare/words.h"
#include "harness/report/markdown_text.h"
#include "harness/report/quantity.h"

namespace claimcheck::compare {
namespace {

std::string rows_table(const Comparison& comparison, State state, const Options& options) {
  const auto rows = sorted_rows(comparison, state);
  if (rows.empty()) return {};
  const bool limit = options.max_regression && state == State::worse;
  std::string text =
      fmt::format("\n#### {}\n\n| measured | before | now | change | 95 % interval |{}\n|---|--:|--:|--:|--:|{}\n",
                  state == State::worse ? "Worse" : "Better", limit ? " limit |" : "", limit ? "---|" : "");
  for (const Row* row : rows) {
    std::string name = markdown_text(row_name(*row));
    for (const std::string& part : {devices_sentence(*row), row->reason}) {
      if (!part.empty()) name += "<br>" + markdown_text(part);
    }
    for (const std::string& cause : row->causes) name += "<br>" + markdown_text(cause);
    text +=
        fmt::format("| {} | {} | {} | {} | {} |{}\n", name, markdown_text(quantity_text(row->before->value, row->unit)),
                    markdown_text(quantity_text(row->after->value, row->unit)), change_text(row->change.relative),
                    interval_text(row->change), limit ? " " + limit_text(row->beyond) + " |" : "");
  }
  return text;
}

std::string listed(const Comparison& comparison, State state, const std::string& title) {
  std::string text;
  for (const auto& [reason, names] : by_reason(comparison, state)) {
    text += fmt::format("- {}{}\n", markdown_text(fmt::format("{}", fmt::join(names, "; "))),
                        reason.empty() ? "" : ": " + markdown_text(reason));
  }
  return text.empty() ? text : fmt::format("\n#### {}\n\n{}", title, text);
}

// Folded away: of interest only when something above is.
std::string folded(const Comparison& comparison) {
  std::string inside = listed(comparison, State::unclear, "Unclear: more than the minimum, but it may be noise") +
                       listed(comparison, State::missing, "In the baseline, not measured now") +
                       listed(comparison, State::not_compared, "Measured in another way, so not compared") +
                       listed(comparison, State::regained, "A right answer again");
  const std::string counts = counts_text(comparison);
  if (inside.empty()) return counts.empty() ? "" : "\n" + counts + "\n";
  return fmt::format("\n<details><summary>{}</summary>\n{}\n</details>\n", counts, inside);
}

std::string mark(const Comparison& comparison, const Options& options) {
  switch (exit_code({comparison}, options)) {
    case ExitCode::not_met:
      return "Regression. ";
    case ExitCode::incomplete:
      return "Open. ";
    default:
      return "";
  }
}

}  // namespace

std::string answer_markdown(const Answer& answer, const Options& options) {
  std::string text = "### claimcheck compare\n\n";
  if (answer.is_virtual) text += "> Virtual devices of the test suite: figures of no real machine.\n\n";
  for (const Comparison& comparison : answer.comparisons) {
    text +=
        fmt::format("**{}{}**\n\n", mark(comparison, options), markdown_text(verdict_sentence(comparison, options)));
    text += fmt::format("Baseline: {}. Now: {}.\n", markdown_text(answer.baseline), markdown_text(comparison.name));
    if (!comparison.surroundings.empty()) {
      text += fmt::format("\nChanged around it: {}.\n",
                          markdown_text(fmt::format("{}", fmt::join(comparison.surroundings, "; "))));
    }
    if (!comparison.comparable() && !comparison.refused.empty()) continue;
    text += rows_table(comparison, State::worse, options);
    text += listed(comparison, State::lost, "No right answer any more");
    text += rows_table(comparison, State::better, options);
    text += folded(comparison);
    text += '\n';
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace claimcheck::compare

// What of the answer a CI job shows beside its log.
#include <fmt/format.h>

#include "harness/compare/words.h"
#include "harness/report/annotations.h"
#include "harness/report/quantity.h"

namespace claimcheck::compare {
namespace {

Annotation worse_annotation(const Row& row) {
  std::string text = fmt::format("{} -> {} ({}", quantity_text(row.before->value, row.unit),
                                 quantity_text(row.after->value, row.unit), change_text(row.change.relative));
  if (const std::string interval = interval_text(row.change); !interval.empty()) text += ", 95 %: " + interval;
  text += ")";
  for (const std::string& part : {devices_sentence(row), row.reason}) {
    if (!part.empty()) text += "; " + part;
  }
  for (const std::string& cause : row.causes) text += "; " + cause;
  return {row.beyond == Beyond::yes ? "error" : "warning", "regression of " + row_name(row), text};
}

}  // namespace

std::string answer_annotations(const Answer& answer, const Options& options) {
  std::vector<Annotation> annotations;
  for (const Comparison& comparison : answer.comparisons) {
    if (!comparison.comparable()) {
      annotations.push_back({"warning", "compare", verdict_sentence(comparison, options)});
      continue;
    }
    for (const Row* row : sorted_rows(comparison, State::lost)) {
      annotations.push_back({"error", "no right answer any more: " + row_name(*row), row->reason});
    }
    for (const Row* row : sorted_rows(comparison, State::worse)) annotations.push_back(worse_annotation(*row));
    const std::size_t missing = comparison.count(State::missing);
    if (missing > 0) {
      annotations.push_back({"warning", "compare", fmt::format("{} of the baseline not measured now", missing)});
    }
  }
  return annotation_lines(annotations);
}

}  // namespace claimcheck::compare

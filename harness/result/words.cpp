// The words of the closed lists in documents.
#include <algorithm>
#include <iterator>

#include "harness/result/measurement.h"
#include "harness/result/verdict.h"

namespace claimcheck {
namespace {

constexpr std::string_view outcomes[] = {"ok",        "wrong_result", "unstable", "unsupported",
                                         "timed_out", "crashed",      "failed"};
constexpr std::string_view verdicts[] = {"met",          "not_met",     "inconclusive",
                                         "not_measured", "implausible", "contradicted"};

}  // namespace

std::string_view to_string(Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> outcome_from(std::string_view word) {
  const auto* found = std::find(std::begin(outcomes), std::end(outcomes), word);
  if (found == std::end(outcomes)) return std::nullopt;
  return static_cast<Outcome>(found - std::begin(outcomes));
}

std::string_view to_string(VerdictKind kind) { return verdicts[static_cast<std::size_t>(kind)]; }

}  // namespace claimcheck

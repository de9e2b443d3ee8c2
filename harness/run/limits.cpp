#include "harness/run/limits.h"

#include <algorithm>

namespace claimcheck {

double case_limit(const TimeLimits& limits, const PlannedCase& planned) {
  return limits.of_case.value_or(std::max(case_limit_floor, case_limit_estimates * planned.estimated_seconds));
}

double silence_limit(const TimeLimits& limits, const BenchmarkCase& what) {
  return limits.silence.value_or(
      std::max(silence_floor, case_limit_estimates * (what.setup_seconds + what.iteration_seconds)));
}

double stop_seconds(const TimeLimits& limits) {
  constexpr double usual = 1.5;
  return limits.budget ? std::min(usual, *limits.budget * (budget_slack - 1)) : usual;
}

std::optional<double> hard_end(const TimeLimits& limits) {
  if (!limits.budget) return std::nullopt;
  return *limits.budget * budget_slack - stop_seconds(limits);
}

}  // namespace claimcheck

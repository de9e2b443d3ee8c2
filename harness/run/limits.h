// How long a worker may take: the deadlines of a benchmark, of its silence, of what lies between two, and of the whole.
// Pure. Seconds everywhere.
#pragma once

#include <optional>

#include "harness/run/plan.h"

namespace claimcheck {

struct TimeLimits {
  std::optional<double> budget;   // of the whole
  std::optional<double> of_case;  // asked for by the user; else from the estimate
  std::optional<double> silence;  // asked for by the user; else from the set-up
};

inline constexpr double budget_slack = 1.10;       // nothing goes on past budget x this
inline constexpr double begin_slack = 1.05;        // a case is begun when its estimate ends before budget x this
inline constexpr double between_limit = 60;        // of a worker until its first event, and between two benchmarks
inline constexpr double case_limit_floor = 30;     // shorter than this is never a hang
inline constexpr double case_limit_estimates = 5;  // times the estimate
inline constexpr double silence_floor = 60;        // as long as a worker itself waits for its device

// Of one benchmark, from its begin to its end.
double case_limit(const TimeLimits& limits, const PlannedCase& planned);

// Without an event. A heartbeat comes every second while it measures, but none while it prepares: a long set-up, or one
// long iteration, is not a hang.
double silence_limit(const TimeLimits& limits, const BenchmarkCase& what);

// From SIGTERM to SIGKILL.
double stop_seconds(const TimeLimits& limits);

// When the last process has to be told to end; unset without a budget.
std::optional<double> hard_end(const TimeLimits& limits);

}  // namespace claimcheck

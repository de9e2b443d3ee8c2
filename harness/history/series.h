// One figure over many runs: steps, drift, spread. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/change.h"

namespace claimcheck::history {

struct Point {
  std::string started;  // UTC, as the result says
  double days = 0;      // since the first run of the machine
  compare::Reading reading;
  std::size_t run = 0;  // index into Machine::runs
};

// From here on another level holds.
struct Step {
  std::size_t at = 0;       // index of the first point after it
  compare::Reading before;  // median of the points since the step before, with its 95 % interval (the range below 6)
  compare::Reading after;
  compare::Change change;
};

enum class Trend { too_few, steady, stepped, drifting };
std::string_view to_string(Trend trend);

struct Course {
  Trend trend = Trend::too_few;
  std::vector<Step> steps;
  std::optional<double> drift_per_30_days;  // relative; set when drifting
  compare::Change first_to_last;            // of the two runs; its interval is theirs
  double spread = 0;                        // of single runs about their level: 1.4826 x median deviation / median
};

inline constexpr std::size_t fewest_points = 6;  // for anything to be said of a trend
inline constexpr std::size_t fewest_beside_a_step = 3;

// `min_effect` is relative. Steps: the division into parts with the least sum of distances from their medians, at a
// price for each step, of which those stay where Mann and Whitney's test between the neighbours, times the number of
// places a step could be, is at or below 5 %, and the medians differ by more than `min_effect`. A drift, where there is
// no step: Mann and Kendall's test below 1 %, and Theil and Sen's slope amounts to more than `min_effect` over the time
// seen.
Course course_of(const std::vector<Point>& points, Better better, double min_effect);

// Two-sided p of Mann and Whitney's test: exact where the sides do not overlap, else by the normal approximation.
double mann_whitney_p(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace claimcheck::history

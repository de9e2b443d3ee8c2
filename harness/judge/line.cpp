#include "harness/judge/line.h"

#include <cmath>

namespace claimcheck {
namespace {

// Whether one value is on the right side.
bool holds(double value, const Line& line) {
  if (line.comparison == "==") return std::abs(value - line.value) <= line.tolerance * std::abs(line.value);
  if (line.comparison == "<=") return line.strictly ? value < line.value : value <= line.value;
  return line.strictly ? value > line.value : value >= line.value;
}

// Whether some value between the ends of the interval holds.
bool any_holds(const std::pair<double, double>& interval, const Line& line) {
  if (line.comparison != "==") return holds(interval.first, line) || holds(interval.second, line);
  const double width = line.tolerance * std::abs(line.value);
  return interval.first <= line.value + width && interval.second >= line.value - width;
}

}  // namespace

Reading reading_of(const Measurement& measurement, double scale) {
  Reading reading;
  reading.value = measurement.value.value() * scale;
  if (!measurement.statistics) return reading;
  const Statistics& statistics = *measurement.statistics;
  if (statistics.ci95) {
    reading.interval = {statistics.ci95->first * scale, statistics.ci95->second * scale};
  } else if (statistics.samples.size() > 1) {
    reading.interval = {statistics.min * scale, statistics.max * scale};
    reading.few_samples = true;
  }
  return reading;
}

VerdictKind decide(const Line& line, const Reading& reading) {
  const std::pair interval = reading.interval.value_or(std::pair{reading.value, reading.value});
  if (holds(interval.first, line) && holds(interval.second, line)) return VerdictKind::met;
  return any_holds(interval, line) ? VerdictKind::inconclusive : VerdictKind::not_met;
}

}  // namespace claimcheck

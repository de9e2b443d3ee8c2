#include "harness/compare/change.h"

#include <cmath>

namespace claimcheck::compare {
namespace {

bool positive(const Reading& reading) {
  return reading.value > 0 && (!reading.interval || reading.interval->first > 0);
}

// Of log(after / before).
Interval log_ratio_interval(const Reading& before, const Reading& after) {
  const double ratio = std::log(after.value / before.value);
  const double before_down = std::log(before.value / before.interval->first);
  const double before_up = std::log(before.interval->second / before.value);
  const double after_down = std::log(after.value / after.interval->first);
  const double after_up = std::log(after.interval->second / after.value);
  return {ratio - std::hypot(after_down, before_up), ratio + std::hypot(after_up, before_down)};
}

}  // namespace

Reading reading_of(const Measurement& measurement) {
  Reading reading{measurement.value.value(), std::nullopt};
  if (measurement.statistics) reading.interval = measurement.statistics->ci95;
  return reading;
}

std::optional<Reading> reading_of(const DeviceValue& device, const Measurement& measurement) {
  if (!device.value) return std::nullopt;
  Reading reading{*device.value, device.ci95};
  if (reading.interval || !measurement.statistics || !measurement.statistics->ci95) return reading;
  const Statistics& whole = *measurement.statistics;
  if (whole.median > 0) {
    const double scale = *device.value / whole.median;
    reading.interval = {whole.ci95->first * scale, whole.ci95->second * scale};
  }
  return reading;
}

Change change_between(const Reading& before, const Reading& after, Better better) {
  Change change;
  if (!positive(before) || !positive(after)) return change;
  const double sign = better == Better::higher ? -1 : 1;
  change.relative = after.value / before.value - 1;
  change.loss = sign * change.relative;
  if (!before.interval || !after.interval) return change;
  const Interval logs = log_ratio_interval(before, after);
  change.relative_interval = {std::expm1(logs.first), std::expm1(logs.second)};
  change.loss_interval = better == Better::higher
                             ? Interval{-change.relative_interval->second, -change.relative_interval->first}
                             : *change.relative_interval;
  change.apart = after.interval->second < before.interval->first || after.interval->first > before.interval->second;
  return change;
}

Kind kind_of(const Change& change, double min_effect) {
  const bool large = std::abs(change.relative) > min_effect;
  if (!change.relative_interval) return large ? Kind::unclear : Kind::unchanged;
  if (large && change.apart) return change.loss > 0 ? Kind::worse : Kind::better;
  return large ? Kind::unclear : Kind::unchanged;
}

double default_min_effect(const Metric* metric) {
  constexpr double unknown = 0.02;
  return metric == nullptr || !(metric->tolerance > 0) ? unknown : metric->tolerance / 2;
}

}  // namespace claimcheck::compare

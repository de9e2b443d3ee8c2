#include "harness/cost/goodput.h"

#include <algorithm>
#include <cmath>

#include "harness/judge/headline.h"
#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

double bytes_of(const Measurement& measurement) {
  const nlohmann::json bytes = condition_of(measurement, "bytes");
  return bytes.is_number() ? bytes.get<double>() : 0;
}

bool in_given_place(const Measurement& measurement) {
  return condition_of(measurement, "location") == "checkpoint_dir";
}

bool speaks_before(const Measurement& one, const Measurement& other) {
  if (in_given_place(one) != in_given_place(other)) return in_given_place(one);
  if (bytes_of(one) != bytes_of(other)) return bytes_of(one) > bytes_of(other);
  return *one.value < *other.value;
}

}  // namespace

std::optional<CheckpointTimes> checkpoint_times(const Document& document) {
  const Measurement* save = nullptr;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != "checkpoint.save.seconds" || !measurement.usable()) continue;
    if (!counts(document, measurement)) continue;
    if (save == nullptr || speaks_before(measurement, *save)) save = &measurement;
  }
  if (save == nullptr) return std::nullopt;
  CheckpointTimes times;
  times.save_seconds = *save->value;
  times.bytes = bytes_of(*save);
  times.preset = text_at(save->conditions, "preset");
  times.given_place = in_given_place(*save);
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != "checkpoint.restore.seconds" || !measurement.usable()) continue;
    if (!counts(document, measurement) || bytes_of(measurement) != times.bytes) continue;
    if (in_given_place(measurement) != times.given_place) continue;
    times.restore_seconds = std::min(times.restore_seconds.value_or(*measurement.value), *measurement.value);
  }
  return times;
}

Goodput goodput(const CheckpointTimes& times, double seconds_between_interruptions) {
  const double between = seconds_between_interruptions;
  Goodput result;
  result.interval_seconds = std::sqrt(2 * times.save_seconds * between);
  const double saving = times.save_seconds / result.interval_seconds;
  const double lost = (result.interval_seconds / 2 + times.restore_seconds.value_or(0)) / between;
  result.share = std::clamp(1 - saving - lost, 0.0, 1.0);
  return result;
}

}  // namespace claimcheck

// What interruptions leave of paid time, from measured checkpoints.
#pragma once

#include <optional>
#include <string>

#include "harness/result/document.h"

namespace claimcheck {

struct CheckpointTimes {
  double save_seconds = 0;
  std::optional<double> restore_seconds;
  double bytes = 0;          // of the model's states that this is the time for
  std::string preset;        // "1.3b"
  bool given_place = false;  // --checkpoint-dir: a place that outlives the machine, as far as its user says
};

// Of the largest model that was measured, in the directory that was given for checkpoints where there was one. Unset
// when no save is usable.
std::optional<CheckpointTimes> checkpoint_times(const Document& document);

struct Goodput {
  double share = 0;             // of paid time that does lasting work, 0 to 1
  double interval_seconds = 0;  // between two saves
};

// Best interval = sqrt(2 x save x mean time between interruptions) [J. W. Young, 1974];
// share = 1 - save / interval - (interval / 2 + restore) / mean time between interruptions, a restore not measured as
// 0.
Goodput goodput(const CheckpointTimes& times, double seconds_between_interruptions);

}  // namespace claimcheck

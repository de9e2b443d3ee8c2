// A value with its interval before and after: by how much it changed, and whether that is more than noise. Pure.
#pragma once

#include <optional>
#include <utility>

#include "harness/result/measurement.h"
#include "harness/result/metrics.h"

namespace claimcheck::compare {

using Interval = std::pair<double, double>;

// A median with its 95 % interval, in the unit of the measurement.
struct Reading {
  double value = 0;
  std::optional<Interval> interval = {};  // unset: the noise is unknown, so no change of it is certain
};

// Of a measurement with a value; the interval is unset below 6 repetitions.
Reading reading_of(const Measurement& measurement);

// Of one device. Results that do not hold its interval: that of the measurement, taken relatively.
std::optional<Reading> reading_of(const DeviceValue& device, const Measurement& measurement);

// `loss` is relative and positive when it became worse, whichever way is better: rate 100 -> 94 is 0.06, time 100 ->
// 106 is 0.06, too.
struct Change {
  double relative = 0;                        // new / old - 1
  double loss = 0;                            // 1 - new / old where higher is better, else new / old - 1
  std::optional<Interval> relative_interval;  // 95 %, of `relative`
  std::optional<Interval> loss_interval;      // the same as loss
  bool apart = false;                         // the two intervals of the medians do not overlap
};

// Both values above 0. The interval of the ratio is that of Donner and Zou (MOVER, 2012) on logarithms: from two 95 %
// intervals it makes one of their difference, without assuming that either is symmetric.
Change change_between(const Reading& before, const Reading& after, Better better);

enum class Kind { worse, better, unchanged, unclear };

// A change counts when the intervals are apart and it is larger than `min_effect`; without intervals a move larger
// than that is unclear, as is a smaller one that may be noise.
Kind kind_of(const Change& change, double min_effect);

// The smallest change that counts where the user says nothing: half the tolerance of the metric's table. The tolerance
// is the spread between healthy machines of one kind; one machine against itself spreads less. Unknown metrics: 2 %.
double default_min_effect(const Metric* metric);

}  // namespace claimcheck::compare

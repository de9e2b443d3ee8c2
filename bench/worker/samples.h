// From timed calls to the samples of a measurement: one value a repetition, in the metric's unit. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmark.h"

namespace claimcheck::bench {

// What Google Benchmark's loop did in one call of the benchmark function.
struct Call {
  std::int64_t iterations = 0;
  double seconds = 0;                              // sum over iterations
  std::vector<double> device_seconds;              // sums, of each device
  std::map<std::string, double> weighted_seconds;  // sum of value x seconds, of each `also` metric

  void add(const Iteration& iteration);
};

// What one of the unit is in base units: "GB/s" 1e9, "us" 1e-6. Unset for a unit not known here.
std::optional<double> unit_factor(std::string_view unit);

// Google Benchmark first searches an iteration count with calls of its own; only the last `repetitions` calls count.
std::span<const Call> repetitions_of(std::span<const Call> calls, std::size_t repetitions);

std::vector<double> samples(const Benchmark& benchmark, double work, std::span<const Call> calls);

// Of one device; empty when the benchmark does not time devices apart.
std::vector<double> device_samples(const Benchmark& benchmark, double work, std::span<const Call> calls,
                                   std::size_t device);

// Of a further metric; empty when no iteration gave it.
std::vector<double> also_samples(const std::string& metric, std::span<const Call> calls);

}  // namespace claimcheck::bench

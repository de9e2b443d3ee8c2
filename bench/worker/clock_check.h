// Compares the device's clock with the host's over the same iterations.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace claimcheck::bench {

// How long the threads of this process have waited for a CPU although they could run (Linux, schedstat); 0 if unknown.
double waited_for_cpu_seconds();

// Made before the first iteration; device_seconds, host_seconds and iterations are the caller's to fill.
class ClockComparison {
 public:
  double seconds_so_far() const;

  // One sentence with both figures when device time is more than 10 % above host time; or more than 10 % below, where
  // an iteration is longer than 1 ms, so that the host's own work is small, and the host was not kept from it by
  // others.
  std::optional<std::string> disagreement() const;
  // The same with the seconds spent waiting for a CPU given.
  std::optional<std::string> disagreement(double waited_seconds) const;

  double device_seconds = 0;
  double host_seconds = 0;
  int iterations = 0;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double waited_before_ = waited_for_cpu_seconds();
};

}  // namespace claimcheck::bench

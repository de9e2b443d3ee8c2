// A soak as a whole, from the segments it was measured in: one time series for each device, and its first minute
// against its last. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

using Column = std::vector<std::optional<double>>;  // a value for each sample; unset: not known

struct SoakDevice {
  int index = 0;
  std::map<std::string, Column> columns;  // "tflops", "gbps", "sm_clock_mhz", "power_w", ...; absent: never known
};

struct Soak {
  std::string benchmark;
  std::vector<double> seconds;  // of each sample, since the soak began
  std::vector<SoakDevice> devices;
  int segments = 0;           // that were planned
  int measured = 0;           // that left samples
  double window_seconds = 0;  // what "first" and "last" mean: a minute, or a third where the soak is shorter
};

// Of measurements with evidence.series and conditions.segment, by benchmark.
std::vector<Soak> soaks_of(const Document& document);

// The medians of a device's column in the first and in the last window.
struct Windows {
  double first = 0;
  double last = 0;
  double kept() const { return last / first; }
};

// Unset with fewer than two known values in either window.
std::optional<Windows> windows_of(const Soak& soak, const SoakDevice& device, const std::string& column);

// Bits that were set in a column (throttle_mask) at any time of the last window; unset when nothing is known of it.
std::optional<unsigned long long> bits_of_last(const Soak& soak, const SoakDevice& device, const std::string& column);

// Whether the device sags: the last median is below the first by more than `tolerance`, and below three quarters of
// the first window's values, so that a device that is only unsteady does not count.
bool sags(const Soak& soak, const SoakDevice& device, const std::string& column, double tolerance);

// "soak.gemm.retention" after the last segment of "soak.gemm.tflops": of the device that keeps least. Status unstable
// where one sags by more than the metric's tolerance; evidence.derived says how, evidence.windows has each device.
// None where the windows are too short.
std::vector<Measurement> retentions(const Document& document);

// Names of the bits of throttle_mask that mean a fault whatever the load; a power cap is none.
std::string throttle_faults(unsigned long long mask);

}  // namespace claimcheck

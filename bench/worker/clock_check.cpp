#include "bench/worker/clock_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

namespace claimcheck::bench {

double waited_for_cpu_seconds() {
  double waited = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    // Time on a CPU, time waiting for one, both in ns, and the number of time slices.
    std::ifstream file(task.path() / "schedstat");
    std::uint64_t running = 0;
    std::uint64_t waiting = 0;
    if (file >> running >> waiting) waited += static_cast<double>(waiting) * 1e-9;
  }
  return waited;
}

double ClockComparison::seconds_so_far() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::optional<std::string> ClockComparison::disagreement() const {
  return disagreement(waited_for_cpu_seconds() - waited_before_);
}

std::optional<std::string> ClockComparison::disagreement(double waited_seconds) const {
  const bool too_long = device_seconds > 1.1 * host_seconds;
  const bool long_iterations = host_seconds > 1e-3 * iterations;
  const bool too_short = long_iterations && device_seconds < 0.9 * (host_seconds - waited_seconds);
  if (!too_long && !too_short) return std::nullopt;
  return fmt::format(
      "the device's clock and the host's disagree by more than 10 %: {:.6f} s and {:.6f} s for the same {} iterations",
      device_seconds, host_seconds, iterations);
}

}  // namespace claimcheck::bench

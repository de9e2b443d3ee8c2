// The limits a container or a batch system puts on this process (Linux control groups, version 1 and 2), and the memory
// that is free within them. `root` is "/" outside of tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace claimcheck::kernels::host {

// CPUs' worth of time per second, unset without a limit.
std::optional<double> control_group_cpus(const std::filesystem::path& root = "/");

struct Throttling {
  long long periods = 0;  // in which the quota was used up
  double seconds = 0;     // for which threads were held back
};
std::optional<Throttling> control_group_throttling(const std::filesystem::path& root = "/");

struct Memory {
  std::size_t total_bytes = 0;      // of the machine, or the control group's limit when that is less
  std::size_t available_bytes = 0;  // can be allocated without swapping or being killed
};
Memory read_memory(const std::filesystem::path& root = "/");

}  // namespace claimcheck::kernels::host

// What Linux says about the processor and the cores this process may use, and pinning of threads to them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace claimcheck::kernels::host {

struct Cpu {
  std::string model;                       // "AMD EPYC 9R14"
  std::vector<int> cores;                  // one logical CPU of each usable core first, further SMT siblings after them
  int usable_cores = 0;                    // how many of `cores` are used by default: whole cores, within the CPU quota
  std::optional<double> quota_cpus;        // of the control group ("docker run --cpus"), unset without a limit
  std::size_t last_level_cache_bytes = 0;  // of all caches of the last level that usable cores have; 0 is unknown
  std::size_t cache_of_core_bytes = 0;     // of one of them
  int sockets = 0;                         // 0 is unknown
  int numa_nodes = 0;                      // 0 is unknown
  std::optional<bool> smt;                 // several usable logical CPUs share a core
  std::optional<double> max_clock_mhz;
  std::optional<bool> hypervisor;  // unset where the CPU's flags do not say (ARM)
};

// Reads /proc and /sys below `root`; `mask` holds the logical CPUs the process may use.
Cpu read_cpu(const std::vector<int>& mask, const std::filesystem::path& root = "/");

// Logical CPUs in the affinity mask of the calling thread.
std::vector<int> affinity();

// Binds the calling thread to one logical CPU, or to several. A refusal is not an error: the thread works all the same,
// only less steadily.
void bind_to(const std::vector<int>& cpus);

// First line of a file of /proc or /sys without the line end; unset when it cannot be read.
std::optional<std::string> first_line(const std::filesystem::path& file);
std::optional<long long> first_number(const std::filesystem::path& file);

// "0-3,8" as Linux writes lists of CPUs.
std::vector<int> cpu_list(const std::string& text);

}  // namespace claimcheck::kernels::host

#include "kernels/host/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/host/cpu.h"

namespace claimcheck::kernels::host {

namespace fs = std::filesystem;

namespace {

// Directories of this process's group for a controller, innermost first, up to the root: limits hold on every level.
// Inside a container /proc/self/cgroup may name a path of the outside; then only the root is there, and it is ours.
std::vector<fs::path> group_directories(const fs::path& root, const std::string& controller) {
  std::vector<fs::path> directories;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    fs::path base = root / "sys/fs/cgroup";
    if (names != ",,") {  // version 1
      if (names.find("," + controller + ",") == std::string::npos) continue;
      base /= controller;
    }
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    for (;; group = group.parent_path()) {
      directories.push_back(group.empty() ? base : base / group);
      if (group.empty()) break;
    }
  }
  return directories;
}

std::optional<long long> field_of(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  std::string key;
  long long value = 0;
  while (in >> key >> value)
    if (key == name) return value;
  return std::nullopt;
}

void lower(std::optional<double>& limit, double value) { limit = limit ? std::min(*limit, value) : value; }

// Of /proc/meminfo, in bytes.
std::size_t meminfo(const fs::path& root, const std::string& name) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    std::istringstream rest(line.substr(name.size() + 1));
    std::size_t kib = 0;
    return rest >> kib ? kib << 10 : 0;
  }
  return 0;
}

struct GroupMemory {
  std::size_t limit_bytes = 0;
  std::size_t free_bytes = 0;
};

// The page cache of files counts as used, yet is given back when memory gets short.
std::optional<GroupMemory> group_memory(const fs::path& directory) {
  auto limit = first_number(directory / "memory.max");
  auto used = first_number(directory / "memory.current");
  auto cache = field_of(directory / "memory.stat", "inactive_file");
  if (!used) {
    limit = first_number(directory / "memory.limit_in_bytes");
    used = first_number(directory / "memory.usage_in_bytes");
    cache = field_of(directory / "memory.stat", "total_inactive_file");
  }
  if (!limit || !used || *limit <= 0) return std::nullopt;
  const long long needed = std::max(0LL, *used - cache.value_or(0));
  return GroupMemory{static_cast<std::size_t>(*limit), static_cast<std::size_t>(std::max(0LL, *limit - needed))};
}

}  // namespace

std::optional<double> control_group_cpus(const fs::path& root) {
  std::optional<double> cpus;
  for (const fs::path& directory : group_directories(root, "cpu")) {
    if (const auto line = first_line(directory / "cpu.max")) {
      std::istringstream text(*line);
      double quota = 0;
      double period = 0;
      if (text >> quota >> period && quota > 0 && period > 0) lower(cpus, quota / period);
    }
    const auto quota = first_number(directory / "cpu.cfs_quota_us");
    const auto period = first_number(directory / "cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0)
      lower(cpus, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  return cpus;
}

std::optional<Throttling> control_group_throttling(const fs::path& root) {
  for (const fs::path& directory : group_directories(root, "cpu")) {
    const auto periods = field_of(directory / "cpu.stat", "nr_throttled");
    if (!periods) continue;
    if (const auto microseconds = field_of(directory / "cpu.stat", "throttled_usec"))
      return Throttling{*periods, static_cast<double>(*microseconds) * 1e-6};
    const auto nanoseconds = field_of(directory / "cpu.stat", "throttled_time");
    return Throttling{*periods, static_cast<double>(nanoseconds.value_or(0)) * 1e-9};
  }
  return std::nullopt;
}

Memory read_memory(const fs::path& root) {
  Memory memory{meminfo(root, "MemTotal"), meminfo(root, "MemAvailable")};
  for (const fs::path& directory : group_directories(root, "memory")) {
    const auto group = group_memory(directory);
    if (!group) continue;
    memory.total_bytes = std::min(memory.total_bytes, group->limit_bytes);
    memory.available_bytes = std::min(memory.available_bytes, group->free_bytes);
  }
  return memory;
}

}  // namespace claimcheck::kernels::host

// Reads cpu.max, memory.max (version 2) and cpu.cfs_*_us, memory.limit_in_bytes (version 1) of every level; see
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ in the Linux sources.
#include "harness/probe/cgroup.h"

#include <algorithm>
#include <string>
#include <vector>

namespace claimcheck::probe {

namespace {

bool names_one(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

// Path of this process in the hierarchy of `controller`, or of version 2 when the controller is empty.
std::optional<std::string> path_of_process(const std::string& table, std::string_view controller) {
  for (const std::string_view line : lines_of(table)) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);  // "cpu,cpuacct", empty in version 2
    if (controller.empty() ? names.empty() : names_one(names, controller))
      return std::string(trimmed(line.substr(second + 1)));
  }
  return std::nullopt;
}

// Directories from the process up to the top, below the mount points given. In a container the path can be the host's
// and absent here; the top of the mount is then the container's own group.
std::vector<std::string> levels(const Tree& tree, std::string_view controller, const std::vector<std::string>& mounts) {
  const std::string table = tree.text("proc/self/cgroup").value_or("");
  std::vector<std::string> found;
  for (const std::string& mount : mounts) {
    std::string path = path_of_process(table, controller).value_or("");
    while (path.find("..") == std::string::npos && !path.empty() && path != "/") {
      found.push_back(mount + path);
      path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    found.push_back(mount);
  }
  return found;
}

void keep_least(std::optional<double>& least, double value) { least = std::min(least.value_or(value), value); }

std::vector<std::string> unified(const Tree& tree) {
  return levels(tree, "", {"sys/fs/cgroup", "sys/fs/cgroup/unified"});
}

}  // namespace

std::optional<double> cgroup_cpu_cores(const Tree& tree) {
  std::optional<double> least;
  for (const std::string& level : unified(tree)) {
    const std::string limit = tree.line(level + "/cpu.max").value_or("");  // "200000 100000" or "max 100000"
    const std::size_t blank = limit.find(' ');
    if (blank == std::string::npos) continue;
    const auto quota = integer_from(std::string_view(limit).substr(0, blank));
    const auto period = integer_from(std::string_view(limit).substr(blank));
    if (quota && period && *quota > 0 && *period > 0)
      keep_least(least, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  for (const std::string& level : levels(tree, "cpu", {"sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"})) {
    const auto quota = tree.number(level + "/cpu.cfs_quota_us");  // -1: no limit
    const auto period = tree.number(level + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0)
      keep_least(least, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  return least;
}

std::optional<std::int64_t> cgroup_memory_bytes(const Tree& tree) {
  constexpr std::int64_t no_limit = std::int64_t{1} << 60;
  std::optional<std::int64_t> least;
  const auto look = [&](const std::string& file) {
    const auto bytes = tree.number(file);
    if (bytes && *bytes > 0 && *bytes < no_limit) least = std::min(least.value_or(*bytes), *bytes);
  };
  for (const std::string& level : unified(tree)) look(level + "/memory.max");
  for (const std::string& level : levels(tree, "memory", {"sys/fs/cgroup/memory"}))
    look(level + "/memory.limit_in_bytes");
  return least;
}

}  // namespace claimcheck::probe

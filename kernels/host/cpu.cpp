#include "kernels/host/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "kernels/host/control_group.h"

namespace claimcheck::kernels::host {

namespace fs = std::filesystem;

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<long long> first_number(const fs::path& file) {
  const auto line = first_line(file);
  long long value = 0;
  if (!line || std::from_chars(line->data(), line->data() + line->size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

std::vector<int> cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc{}) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc{}) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = parsed.ptr + 1;
  }
  return cpus;
}

std::vector<int> affinity() {
  // The kernel refuses masks smaller than its own; double until it fits.
  for (int most = 1024; most <= 1 << 20; most *= 2) {
    cpu_set_t* set = CPU_ALLOC(most);
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(most);
    std::vector<int> cpus;
    const bool known = sched_getaffinity(0, size, set) == 0;
    for (int cpu = 0; known && cpu < most; ++cpu)
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
    CPU_FREE(set);
    if (known) return cpus;
  }
  return {0};
}

void bind_to(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const int most = *std::max_element(cpus.begin(), cpus.end()) + 1;
  cpu_set_t* set = CPU_ALLOC(most);
  if (set == nullptr) return;
  const std::size_t size = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus) CPU_SET_S(cpu, size, set);
  sched_setaffinity(0, size, set);
  CPU_FREE(set);
}

namespace {

struct CpuInfo {
  std::string model;
  std::optional<bool> hypervisor;
};

// The first processor's entry of /proc/cpuinfo. ARM has no model name there; its implementer and part are numbers.
CpuInfo read_cpuinfo(const fs::path& root) {
  CpuInfo info;
  std::map<std::string, std::string> fields;
  std::ifstream in(root / "proc/cpuinfo");
  for (std::string line; std::getline(in, line) && !line.empty();) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto key_end = line.find_last_not_of(" \t", colon - 1);
    const auto value_start = line.find_first_not_of(" \t", colon + 1);
    if (key_end == std::string::npos || value_start == std::string::npos) continue;
    fields[line.substr(0, key_end + 1)] = line.substr(value_start);
  }
  info.model = fields["model name"];
  if (info.model.empty() && !fields["CPU part"].empty())
    info.model = "ARM implementer " + fields["CPU implementer"] + " part " + fields["CPU part"];
  if (info.model.empty()) info.model = "unknown CPU";
  if (!fields["flags"].empty())
    info.hypervisor = (" " + fields["flags"] + " ").find(" hypervisor ") != std::string::npos;
  return info;
}

std::size_t size_with_suffix(const std::string& text) {
  std::size_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{}) return 0;
  const char suffix = parsed.ptr < text.data() + text.size() ? *parsed.ptr : ' ';
  if (suffix == 'K') return value << 10;
  return suffix == 'M' ? value << 20 : value;
}

struct Cache {
  int level = 0;
  std::string shared_with;
  std::size_t size_bytes = 0;
};

Cache last_level_cache(const fs::path& cpu) {
  Cache last;
  for (int index = 0; index < 16; ++index) {
    const fs::path directory = cpu / "cache" / ("index" + std::to_string(index));
    const auto level = first_number(directory / "level");
    if (!level) break;
    if (first_line(directory / "type").value_or("") == "Instruction" || *level < last.level) continue;
    last.level = static_cast<int>(*level);
    last.shared_with = first_line(directory / "shared_cpu_list").value_or("");
    last.size_bytes = size_with_suffix(first_line(directory / "size").value_or(""));
  }
  return last;
}

}  // namespace

Cpu read_cpu(const std::vector<int>& mask, const fs::path& root) {
  Cpu cpu;
  const CpuInfo info = read_cpuinfo(root);
  cpu.model = info.model;
  cpu.hypervisor = info.hypervisor;
  const fs::path cpus = root / "sys/devices/system/cpu";

  std::vector<int> siblings;
  std::set<std::string> seen_cores;
  std::set<std::string> seen_sockets;
  std::map<std::string, std::size_t> caches;
  for (const int index : mask) {
    const fs::path directory = cpus / ("cpu" + std::to_string(index));
    const std::string core =
        first_line(directory / "topology/thread_siblings_list").value_or("cpu " + std::to_string(index));
    (seen_cores.insert(core).second ? cpu.cores : siblings).push_back(index);
    if (const auto socket = first_line(directory / "topology/physical_package_id")) seen_sockets.insert(*socket);
    const Cache cache = last_level_cache(directory);
    if (cache.size_bytes == 0) continue;
    caches[cache.shared_with] = cache.size_bytes;
    cpu.cache_of_core_bytes = std::max(cpu.cache_of_core_bytes, cache.size_bytes);
  }
  cpu.usable_cores = static_cast<int>(cpu.cores.size());
  cpu.smt = !siblings.empty();
  cpu.cores.insert(cpu.cores.end(), siblings.begin(), siblings.end());
  for (const auto& [shared_with, size] : caches) cpu.last_level_cache_bytes += size;
  cpu.sockets = static_cast<int>(seen_sockets.size());
  if (const auto nodes = first_line(root / "sys/devices/system/node/online"))
    cpu.numa_nodes = static_cast<int>(cpu_list(*nodes).size());
  if (!mask.empty())
    if (const auto khz = first_number(cpus / ("cpu" + std::to_string(mask.front())) / "cpufreq/cpuinfo_max_freq"))
      cpu.max_clock_mhz = static_cast<double>(*khz) / 1e3;
  cpu.quota_cpus = control_group_cpus(root);
  if (cpu.quota_cpus) cpu.usable_cores = std::clamp(static_cast<int>(std::ceil(*cpu.quota_cpus)), 1, cpu.usable_cores);
  return cpu;
}

}  // namespace claimcheck::kernels::host

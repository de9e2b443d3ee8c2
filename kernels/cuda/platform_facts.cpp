#include "kernels/cuda/platform_facts.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kernels/cuda/error.h"
#include "kernels/cuda/gemm_rules.h"
#include "kernels/cuda/topology.h"

namespace claimcheck::kernels::cuda {

namespace {

Fact cuda_version(cudaError_t (*ask)(int*)) {
  int number = 0;
  const cudaError_t status = ask(&number);
  ignore(status);
  return status == cudaSuccess ? Fact(fmt::format("{}.{}", number / 1000, number % 1000 / 10)) : Fact();
}

bool opens(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return false;
  dlclose(handle);
  return true;
}

// Where NCCL looks for a network plugin (its documentation, NCCL_NET_PLUGIN); the first that opens, else "none".
std::string net_plugin() {
  std::vector<std::string> names;
  const char* asked = std::getenv("NCCL_NET_PLUGIN");
  const std::string name = asked == nullptr ? "" : asked;
  if (name == "none") return "none";
  if (!name.empty()) names = {name, fmt::format("libnccl-net-{}.so", name)};
  names.emplace_back("libnccl-net.so");
  const auto found = std::find_if(names.begin(), names.end(), opens);
  return found == names.end() ? "none" : *found;
}

// "00000000:17:00.0" and "0000:17:00.0" are one place.
bool same_place(std::string one, std::string other) {
  for (std::string* id : {&one, &other}) {
    for (char& c : *id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t colon = id->find(':');
    if (colon != std::string::npos && colon > 4) id->erase(0, colon - 4);
  }
  return one == other;
}

std::string place_of(const Gpu& gpu) {
  for (const auto& [name, fact] : gpu.facts.more)
    if (const auto* text = std::get_if<std::string>(&fact); name == "pci_bus_id" && text != nullptr) return *text;
  return "";
}

Fact peer_access(std::span<const Gpu* const> gpus, std::size_t from) {
  std::vector<double> access;
  try {
    for (const Gpu* to : gpus) access.push_back(can_access(*gpus[from], *to) ? 1 : 0);
  } catch (const Error&) {
    return {};
  }
  return access;
}

Fact nvlinks(const std::vector<std::optional<std::vector<std::string>>>& ends, const std::vector<std::string>& places,
             std::size_t from) {
  if (!ends[from]) return {};
  std::vector<double> counts;
  for (std::size_t to = 0; to < places.size(); ++to)
    counts.push_back(to == from || !ends[to] ? 0 : nvlinks_between(*ends[from], places[from], *ends[to], places[to]));
  return counts;
}

Fact paths(const Topology& topology, const std::vector<std::string>& places, std::size_t from) {
  std::string words;
  for (std::size_t to = 0; to < places.size(); ++to) {
    const std::string path = to == from ? "X" : topology.path(places[from], places[to]);
    if (path.empty()) return {};
    words += (words.empty() ? "" : " ") + path;
  }
  return words;
}

void add_nics(Facts& facts, const Topology& topology, const std::string& place, const std::string& prefix) {
  const std::vector<NearNic> nics = topology.nearest_nics(place);
  std::string names;
  for (const NearNic& nic : nics) names += (names.empty() ? "" : ",") + nic.name;
  facts.emplace_back(prefix + "nearest_nics", names.empty() ? Fact() : Fact(names));
  facts.emplace_back(prefix + "nearest_nics_path", nics.empty() ? Fact() : Fact(nics[0].path));
}

}  // namespace

std::string pci_bus_id(int ordinal) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal));
  return text.data();
}

bool can_access(const Gpu& from, const Gpu& to) {
  if (from.ordinal == to.ordinal) return true;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, from.ordinal, to.ordinal));
  return possible != 0;
}

int nvlinks_between(const std::vector<std::string>& ends, const std::string& bus_id,
                    const std::vector<std::string>& other_ends, const std::string& other_bus_id) {
  const auto count = [](const std::vector<std::string>& of, const std::string& end) {
    return static_cast<int>(
        std::count_if(of.begin(), of.end(), [&](const std::string& one) { return same_place(one, end); }));
  };
  const int direct = std::max(count(ends, other_bus_id), count(other_ends, bus_id));
  return direct > 0 ? direct : std::min(count(ends, "switch"), count(other_ends, "switch"));
}

std::vector<int> cpus_of_list(const std::string& list) {
  std::vector<int> cpus;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    if (end == part.c_str() || first < 0 || last < first || last > 65535) return {};
    for (long cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

Fact near_cpus(int numa_node, bool only_usable) {
  if (numa_node < 0) return {};
  std::ifstream in(fmt::format("/sys/devices/system/node/node{}/cpulist", numa_node));
  std::string list;
  if (!std::getline(in, list)) return {};
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  const std::vector<int> cpus = cpus_of_list(list);
  if (!only_usable) return static_cast<std::int64_t>(cpus.size());
  return static_cast<std::int64_t>(std::count_if(
      cpus.begin(), cpus.end(), [&](int cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &usable) != 0; }));
}

Fact nccl_version() {
  int number = 0;
  return ncclGetVersion(&number) == ncclSuccess
             ? Fact(fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100))
             : Fact();
}

Facts version_facts(const Nvml* nvml) {
  Facts facts = {{"driver_version", nvml == nullptr ? Fact() : nvml->driver_version()},
                 {"cuda_driver_version", cuda_version(cudaDriverGetVersion)},
                 {"cuda_runtime_version", cuda_version(cudaRuntimeGetVersion)},
                 {"cublas_version", cublas_version(cublasLtGetVersion())},
                 {"nccl_version", nccl_version()},
                 {"nccl_net_plugin", net_plugin()}};
  const int count = nvml == nullptr ? -1 : nvml->device_count();
  facts.emplace_back("gpus_in_machine", count < 0 ? Fact() : Fact(static_cast<std::int64_t>(count)));
  return facts;
}

Facts link_facts(std::span<const Gpu* const> gpus) {
  const Topology topology;
  std::vector<std::string> places;
  std::vector<std::optional<std::vector<std::string>>> ends;
  for (const Gpu* gpu : gpus) {
    places.push_back(place_of(*gpu));
    ends.push_back(gpu->sensors == nullptr ? std::nullopt : gpu->sensors->nvlink_ends());
  }
  Facts facts;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string prefix = fmt::format("gpu{}_", i);
    if (gpus.size() > 1) {
      facts.emplace_back(prefix + "peer_access_to", peer_access(gpus, i));
      facts.emplace_back(prefix + "nvlinks_to", nvlinks(ends, places, i));
      facts.emplace_back(prefix + "path_to", paths(topology, places, i));
    }
    add_nics(facts, topology, places[i], prefix);
  }
  return facts;
}

}  // namespace claimcheck::kernels::cuda

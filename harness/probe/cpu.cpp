// CPU facts from sysfs topology, /proc/cpuinfo where sysfs is silent, and control groups.
#include <sys/utsname.h>

#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "harness/probe/cgroup.h"
#include "harness/probe/parts.h"

namespace claimcheck::probe {

namespace {

struct Topology {
  std::int64_t threads = 0;
  std::set<std::int64_t> sockets;
  std::set<std::pair<std::int64_t, std::int64_t>> cores;  // socket, core id
};

Topology from_sysfs(const Tree& tree) {
  Topology topology;
  for (const std::string& name : tree.children("sys/devices/system/cpu")) {
    if (name.size() < 4 || name.compare(0, 3, "cpu") != 0 || !std::isdigit(static_cast<unsigned char>(name[3])))
      continue;
    const std::string base = "sys/devices/system/cpu/" + name + "/topology/";
    const auto socket = tree.number(base + "physical_package_id");
    const auto core = tree.number(base + "core_id");
    if (!socket || !core) continue;  // offline
    ++topology.threads;
    topology.sockets.insert(*socket);
    topology.cores.emplace(*socket, *core);
  }
  return topology;
}

Topology from_cpuinfo(const std::string& cpuinfo) {
  Topology topology;
  std::int64_t socket = 0;
  for (const std::string_view line : lines_of(cpuinfo)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::int64_t value = integer_from(line.substr(colon + 1)).value_or(-1);
    if (key == "processor") ++topology.threads;
    if (key == "physical id") topology.sockets.insert(socket = value);
    if (key == "core id") topology.cores.emplace(socket, value);
  }
  return topology;
}

// Arm kernels print numbers instead of a name; the parts GPU machines come with (Arm's MIDR part numbers).
std::optional<std::string> arm_name(const std::string& cpuinfo) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> parts{{{"0xd0c", "Arm Neoverse N1"},
                                                                                       {"0xd40", "Arm Neoverse V1"},
                                                                                       {"0xd49", "Arm Neoverse N2"},
                                                                                       {"0xd4f", "Arm Neoverse V2"},
                                                                                       {"0xd84", "Arm Neoverse V3"}}};
  const auto part = value_of(cpuinfo, "CPU part");
  if (!part || value_of(cpuinfo, "CPU implementer") != "0x41") return std::nullopt;
  for (const auto& [number, name] : parts)
    if (number == *part) return std::string(name);
  return std::nullopt;
}

// Share of CPU time that the hypervisor gave to others since boot, 0 to 1.
std::optional<double> steal_fraction(const Tree& tree) {
  const auto total = tree.line("proc/stat");  // cpu user nice system idle iowait irq softirq steal guest guest_nice
  if (!total || total->rfind("cpu", 0) != 0) return std::nullopt;
  double sum = 0;
  double steal = 0;
  int field = 0;
  std::string_view rest = trimmed(std::string_view(*total).substr(3));
  for (; !rest.empty() && field < 8; ++field) {  // guest time is already in user
    const std::size_t blank = rest.find(' ');
    const auto ticks = integer_from(rest.substr(0, blank));
    if (!ticks || *ticks < 0) return std::nullopt;
    sum += static_cast<double>(*ticks);
    if (field == 7) steal = static_cast<double>(*ticks);
    rest = blank == std::string_view::npos ? std::string_view() : trimmed(rest.substr(blank));
  }
  if (field < 8 || sum <= 0) return std::nullopt;
  return steal / sum;
}

nlohmann::json numa_nodes(const Tree& tree) {
  std::int64_t nodes = 0;
  for (const std::string& name : tree.children("sys/devices/system/node"))
    if (name.size() > 4 && name.compare(0, 4, "node") == 0 && std::isdigit(static_cast<unsigned char>(name[4])))
      ++nodes;
  return nodes > 0 ? nlohmann::json(nodes) : nlohmann::json(nullptr);
}

nlohmann::json count_or_null(std::size_t count) { return count > 0 ? nlohmann::json(count) : nlohmann::json(nullptr); }

}  // namespace

nlohmann::json cpu(const Tree& tree) {
  const std::string cpuinfo = tree.text("proc/cpuinfo", 8 << 20).value_or("");
  Topology topology = from_sysfs(tree);
  if (topology.threads == 0) topology = from_cpuinfo(cpuinfo);

  std::optional<std::string> model;
  if (const auto name = value_of(cpuinfo, "model name"); name && !name->empty()) model = std::string(*name);
  if (!model) model = arm_name(cpuinfo);

  const std::string status = tree.text("proc/self/status").value_or("");
  const auto allowed_list = value_of(status, "Cpus_allowed_list");
  const auto smt = tree.number("sys/devices/system/cpu/smt/active");

  utsname names{};
  nlohmann::json facts = {
      {"model", known(model)},
      {"architecture", ::uname(&names) == 0 ? nlohmann::json(names.machine) : nlohmann::json(nullptr)},
      {"sockets", count_or_null(topology.sockets.size())},
      {"cores", count_or_null(topology.cores.size())},
      {"threads", count_or_null(static_cast<std::size_t>(topology.threads))},
      {"usable_cores", known(allowed_list ? list_count(*allowed_list) : std::nullopt)},
      {"smt", nullptr},
      {"numa_nodes", numa_nodes(tree)},
      {"quota_cores", known(cgroup_cpu_cores(tree))},
      {"steal_fraction", known(steal_fraction(tree))}};
  if (smt)
    facts["smt"] = *smt != 0;
  else if (!topology.cores.empty())
    facts["smt"] = topology.threads > static_cast<std::int64_t>(topology.cores.size());
  return facts;
}

}  // namespace claimcheck::probe

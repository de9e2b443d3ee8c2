// Operating system, driver, virtualisation, container, and the environment that may be kept.
#include <array>

#include "harness/probe/parts.h"

namespace claimcheck::probe {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<std::string> unquoted(std::optional<std::string_view> value) {
  if (!value) return std::nullopt;
  std::string_view text = *value;
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

}  // namespace

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 ..." -> "550.54.15"; the open modules write
// "... Open Kernel Module for x86_64  570.124.06  Release Build".
std::optional<std::string> nvidia_driver(const Tree& tree) {
  const auto line = tree.line("proc/driver/nvidia/version");
  if (!line) return std::nullopt;
  std::string_view rest = *line;
  while (!rest.empty()) {
    const std::size_t blank = rest.find(' ');
    const std::string_view word = rest.substr(0, blank);
    if (word.find_first_not_of("0123456789.") == std::string_view::npos && word.find('.') != std::string_view::npos)
      return std::string(word);
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  return std::nullopt;
}

nlohmann::json os(const Tree& tree) {
  auto text = tree.text("etc/os-release");
  if (!text) text = tree.text("usr/lib/os-release");
  const std::string release = text.value_or("");
  return {{"id", known(unquoted(value_of(release, "ID", '=')))},
          {"version", known(unquoted(value_of(release, "VERSION_ID", '=')))},
          {"name", known(unquoted(value_of(release, "PRETTY_NAME", '=')))}};
}

// The hypervisor by DMI strings; "other" when only the CPU flag tells. null when nothing can be told.
nlohmann::json virtualization(const Tree& tree) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 11> signs{{{"Amazon EC2", "nitro"},
                                                                                   {"Google", "kvm"},
                                                                                   {"Alibaba Cloud", "kvm"},
                                                                                   {"Tencent Cloud", "kvm"},
                                                                                   {"QEMU", "kvm"},
                                                                                   {"KVM", "kvm"},
                                                                                   {"OpenStack", "kvm"},
                                                                                   {"Microsoft Corporation", "hyper-v"},
                                                                                   {"VMware", "vmware"},
                                                                                   {"innotek", "virtualbox"},
                                                                                   {"Xen", "xen"}}};
  const std::string cpuinfo = tree.text("proc/cpuinfo", 1 << 16).value_or("");
  if (cpuinfo.empty()) return nullptr;
  if (contains(tree.line("proc/sys/kernel/osrelease").value_or(""), "WSL")) return "wsl";
  // Only x86 has the flag; elsewhere its absence tells nothing.
  const bool x86 = value_of(cpuinfo, "flags").has_value();
  const bool hypervisor = contains(std::string(value_of(cpuinfo, "flags").value_or("")) + " ", " hypervisor ");
  if (x86 && !hypervisor) return "none";
  if (tree.line("sys/hypervisor/type") == "xen") return "xen";
  const std::string dmi = tree.line("sys/class/dmi/id/sys_vendor").value_or("") + " " +
                          tree.line("sys/class/dmi/id/product_name").value_or("");
  for (const auto& [sign, name] : signs)
    if (contains(dmi, sign)) return name;
  return hypervisor ? nlohmann::json("other") : nlohmann::json(nullptr);
}

nlohmann::json container(const Tree& tree, const Environment& environment) {
  if (environment.count("KUBERNETES_SERVICE_HOST") != 0) return "kubernetes";
  if (tree.exists(".dockerenv")) return "docker";
  if (tree.exists("run/.containerenv")) return "podman";
  if (const auto name = tree.line("run/systemd/container")) return *name;
  const std::string groups = tree.text("proc/self/cgroup").value_or("");
  for (const auto& [sign, name] : {std::pair{"kubepods", "kubernetes"}, std::pair{"/docker", "docker"},
                                   std::pair{"libpod", "podman"}, std::pair{"/lxc", "lxc"}})
    if (contains(groups, sign)) return name;
  const std::string mounts = tree.text("proc/self/mounts").value_or("");
  if (mounts.rfind("overlay / overlay ", 0) == 0) return "other";
  return mounts.empty() && groups.empty() ? nlohmann::json(nullptr) : nlohmann::json("none");
}

nlohmann::json allowed(const Environment& environment) {
  nlohmann::json kept = nlohmann::json::object();
  for (const auto& [name, value] : environment)
    if (name == "CUDA_VISIBLE_DEVICES" || name == "FI_PROVIDER" || name == "FI_EFA_USE_DEVICE_RDMA" ||
        name.rfind("NCCL_", 0) == 0 || name.rfind("OMP_", 0) == 0)
      kept[name] = value;
  return kept;
}

}  // namespace claimcheck::probe

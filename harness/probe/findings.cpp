// What is wrong with the machine already, judged from the probe's facts alone (pure).
#include <fmt/format.h>

#include <cstdint>

#include "harness/probe/probe.h"

namespace claimcheck {

namespace {

using nlohmann::json;

constexpr double mib = 1024.0 * 1024.0;
constexpr double gib = 1024.0 * mib;

std::optional<double> number_at(const json& facts, const char* place) {
  const json::json_pointer pointer(place);
  if (!facts.contains(pointer) || !facts.at(pointer).is_number()) return std::nullopt;
  return facts.at(pointer).get<double>();
}

std::string text_at(const json& facts, const char* key) {
  return facts.contains(key) && facts.at(key).is_string() ? facts.at(key).get<std::string>() : std::string();
}

void look_at_cpu(const json& system, std::vector<Finding>& findings) {
  const auto usable = number_at(system, "/cpu/usable_cores");
  const auto threads = number_at(system, "/cpu/threads");
  const auto quota = number_at(system, "/cpu/quota_cores");
  if (quota && usable && *quota < *usable)
    findings.push_back(
        {"cpu.quota",
         "warning",
         fmt::format("The control group allows {:.4g} cores of CPU time on {:.0f} visible CPUs; threads will "
                     "be stopped in between.",
                     *quota, *usable),
         "Start the container without --cpus (Kubernetes: without a CPU limit), or with a CPU set instead.",
         {{"quota_cores", *quota}, {"usable_cores", *usable}}});
  if (usable && threads && *usable < *threads)
    findings.push_back({"cpu.affinity",
                        "info",
                        fmt::format("This process may use {:.0f} of {:.0f} CPUs.", *usable, *threads),
                        "Start it outside taskset, or ask the scheduler for the whole node.",
                        {{"usable_cores", *usable}, {"threads", *threads}}});
  const auto steal = number_at(system, "/cpu/steal_fraction");
  constexpr double much = 0.01;
  if (steal && *steal > much)
    findings.push_back(
        {"cpu.steal",
         "warning",
         fmt::format("Since boot the hypervisor gave {:.1f} % of this machine's CPU time to others.", *steal * 100),
         "Expect noise in CPU figures; ask for a dedicated host when the machine was sold as one.",
         {{"steal_fraction", *steal}}});
}

void look_at_memory(const json& system, std::vector<Finding>& findings) {
  const auto swap = number_at(system, "/swap_used_bytes");
  if (swap && *swap > 64 * mib)
    findings.push_back({"memory.swap",
                        "warning",
                        fmt::format("{:.1f} GiB of swap are in use.", *swap / gib),
                        "Stop what fills the memory before measuring (`ps aux --sort=-rss | head`).",
                        {{"swap_used_bytes", *swap}}});
  const auto available = number_at(system, "/memory_available_bytes");
  const auto limit = number_at(system, "/memory_limit_bytes");
  if (available && *available < 2 * gib)
    findings.push_back({"memory.low",
                        "warning",
                        fmt::format("Only {:.1f} GiB of memory are available.", *available / gib),
                        "Free memory or take a larger machine; large cases will be left out.",
                        {{"memory_available_bytes", *available}}});
  else if (limit && *limit < 2 * gib)
    findings.push_back({"memory.limit",
                        "warning",
                        fmt::format("The control group allows {:.1f} GiB of memory.", *limit / gib),
                        "Start the container with a higher memory limit.",
                        {{"memory_limit_bytes", *limit}}});
}

void look_at_nvidia(const json& system, const json& gpus, std::vector<Finding>& findings) {
  std::size_t count = 0;
  std::string name = "an NVIDIA GPU";
  std::string bound;  // driver the kernel gave the card to
  for (const json& gpu : gpus) {
    if (text_at(gpu, "vendor") != "nvidia") continue;
    ++count;
    if (!text_at(gpu, "name").empty()) name = text_at(gpu, "name");
    if (!text_at(gpu, "driver").empty()) bound = text_at(gpu, "driver");
  }
  if (count == 0) return;
  const json evidence = {{"gpus", count}, {"bound_to", bound}};
  if (text_at(system, "nvidia_driver").empty()) {
    const std::string held = bound.empty() || bound == "nvidia" ? "" : fmt::format(" (held by {})", bound);
    findings.push_back({"gpu.no_driver", "error",
                        fmt::format("The PCI bus shows {} x {}, but no NVIDIA driver is loaded{}.", count, name, held),
                        "Install the driver (Ubuntu: `sudo ubuntu-drivers install --gpgpu`), then reboot; when it is "
                        "installed, `sudo modprobe nvidia` and `dmesg` say why it is not loaded.",
                        evidence});
  } else if (number_at(system, "/nvidia_device_files").value_or(0) == 0) {
    findings.push_back(
        {"gpu.not_visible", "error",
         fmt::format("The NVIDIA driver runs, but no /dev/nvidia0 is here: {} GPU{} cannot be used.", count,
                     count == 1 ? "" : "s"),
         "In a container: start it with `--gpus all` (NVIDIA Container Toolkit). On the machine itself: run "
         "`sudo nvidia-modprobe -u -c 0`.",
         evidence});
  }
}

void look_at_gpus(const json& system, std::vector<Finding>& findings) {
  const json gpus = system.value("pci_gpus", json::array());
  if (!gpus.is_array() || gpus.empty()) return;
  look_at_nvidia(system, gpus, findings);
  for (const json& gpu : gpus) {
    if (text_at(gpu, "vendor") != "amd" || !text_at(gpu, "driver").empty()) continue;
    findings.push_back({"gpu.no_driver",
                        "error",
                        fmt::format("No driver is bound to the AMD GPU at {}.", text_at(gpu, "address")),
                        "Install amdgpu-dkms (ROCm), then `sudo modprobe amdgpu`.",
                        {{"address", text_at(gpu, "address")}}});
  }
  const auto shm = number_at(system, "/shm_bytes");
  if (shm && *shm < gib)
    findings.push_back(
        {"shm.small",
         "warning",
         fmt::format("/dev/shm has {:.0f} MiB; NCCL and data loaders of a GPU machine need more.", *shm / mib),
         "Start the container with `--shm-size=8g` or `--ipc=host`.",
         {{"shm_bytes", *shm}}});
}

void look_at_startup(const json& system, std::vector<Finding>& findings) {
  const json startup = system.value("startup", json());
  const json cloud_init = startup.is_object() ? startup.value("cloud_init", json()) : json();
  if (!cloud_init.is_object()) return;
  const std::string status = text_at(cloud_init, "status");
  if (status == "running")
    findings.push_back({"startup.running", "warning", "cloud-init is still at work on this machine.",
                        "`cloud-init status --wait`, then measure.", cloud_init});
  if (status == "error")
    findings.push_back({"startup.errors", "warning",
                        "cloud-init ended with errors: the machine may lack what it was to have.",
                        "`cloud-init status --long` and /var/log/cloud-init.log say which.", cloud_init});
}

}  // namespace

std::vector<Finding> system_findings(const json& system) {
  std::vector<Finding> findings;
  if (!system.is_object()) return findings;
  look_at_cpu(system, findings);
  look_at_memory(system, findings);
  look_at_gpus(system, findings);
  look_at_startup(system, findings);
  return findings;
}

}  // namespace claimcheck

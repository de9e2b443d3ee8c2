#include "kernels/cuda/nvml.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cuda/nvml_library.h"
#include "kernels/cuda/nvml_words.h"

namespace claimcheck::kernels::cuda {

namespace {

using nvml::Answers;
using nvml::Clock;
using nvml::Device;
using nvml::Library;
using nvml::Return;

double watts(unsigned milliwatts) { return milliwatts / 1e3; }
bool on(int state) { return state != 0; }

std::string text_of(const nvml::Function<Device, char*, unsigned>& function, Device device) {
  std::array<char, 96> text{};
  return function(device, text.data(), static_cast<unsigned>(text.size())) == Return::success ? text.data() : "";
}

// Two answers of one call.
template <class Call>
void ask_pair(Answers& answers, const char* first_name, const char* second_name, Call call) {
  int first = 0;
  int second = 0;
  const Return code = call(first, second);
  answers.add(first_name, code, on(first));
  answers.add(second_name, code, on(second));
}

void ask_power(Answers& answers, const Library& library, Device device) {
  answers.ask<unsigned>(
      "power_limit_w", [&](unsigned& raw) { return library.power_limit(device, &raw); }, watts);
  answers.ask<unsigned>(
      "power_limit_default_w", [&](unsigned& raw) { return library.default_power_limit(device, &raw); }, watts);
  unsigned least = 0;
  answers.ask<unsigned>(
      "power_limit_max_w", [&](unsigned& raw) { return library.power_limits(device, &least, &raw); }, watts);
}

void ask_memory_health(Answers& answers, const Library& library, Device device) {
  ask_pair(answers, "ecc_enabled", "ecc_enabled_after_reboot",
           [&](int& current, int& pending) { return library.ecc_mode(device, &current, &pending); });
  std::array<unsigned, 4> rows{};
  const Return code = library.remapped_rows(device, &rows[0], &rows[1], &rows[2], &rows[3]);
  answers.add("row_remaps_correctable", code, static_cast<std::int64_t>(rows[0]));
  answers.add("row_remaps_uncorrectable", code, static_cast<std::int64_t>(rows[1]));
  answers.add("row_remap_pending", code, rows[2] != 0);
  answers.add("row_remap_failed", code, rows[3] != 0);
  answers.ask<int>(
      "retired_pages_pending", [&](int& raw) { return library.retired_pages_pending(device, &raw); }, on);
}

void ask_errors(Answers& answers, const Library& library, Device device) {
  for (const auto& [name, counter] : {std::pair("ecc_uncorrected", nvml::EccCounter::since_driver_load),
                                      std::pair("ecc_uncorrected_lifetime", nvml::EccCounter::lifetime)})
    answers.ask<unsigned long long>(name, [&, counter = counter](auto& raw) {
      return library.ecc_errors(device, nvml::EccError::uncorrected, counter, &raw);
    });
}

void ask_clocks(Answers& answers, const Library& library, Device device) {
  answers.ask<unsigned>("max_sm_clock_mhz", [&](unsigned& raw) { return library.max_clock(device, Clock::sm, &raw); });
  answers.ask<unsigned>("max_memory_clock_mhz",
                        [&](unsigned& raw) { return library.max_clock(device, Clock::memory, &raw); });
  answers.ask<unsigned>("application_clock_mhz",
                        [&](unsigned& raw) { return library.application_clock(device, Clock::sm, &raw); });
  answers.ask<unsigned>("application_clock_default_mhz",
                        [&](unsigned& raw) { return library.default_application_clock(device, Clock::sm, &raw); });
}

// Asked before this program has anything on the GPU: whoever is named is somebody else, also in a container, where
// NVML's process numbers are those of the host.
void ask_processes(Answers& answers, const Library& library, Device device) {
  std::array<nvml::ProcessInfo, 64> infos{};
  auto count = static_cast<unsigned>(infos.size());
  Return code = library.processes(device, &count, infos.data());
  if (code == Return::insufficient_size) code = Return::success;  // `count` is then how many there are
  const auto known = std::min<std::size_t>(count, infos.size());
  const auto own =
      std::count_if(infos.begin(), infos.begin() + static_cast<std::ptrdiff_t>(known),
                    [](const nvml::ProcessInfo& info) { return info.pid == static_cast<unsigned>(getpid()); });
  answers.add("other_processes", code, static_cast<std::int64_t>(count) - own);
}

void ask_pcie_now(Answers& answers, const Library& library, Device device) {
  answers.ask<unsigned>("pcie_generation", [&](unsigned& raw) { return library.pcie_generation(device, &raw); });
  answers.ask<unsigned>("pcie_width", [&](unsigned& raw) { return library.pcie_width(device, &raw); });
}

void ask_pcie(Answers& answers, const Library& library, Device device) {
  answers.ask<unsigned>("pcie_max_generation",
                        [&](unsigned& raw) { return library.pcie_max_generation(device, &raw); });
  answers.ask<unsigned>("pcie_gpu_max_generation",
                        [&](unsigned& raw) { return library.pcie_gpu_max_generation(device, &raw); });
  answers.ask<unsigned>("pcie_max_width", [&](unsigned& raw) { return library.pcie_max_width(device, &raw); });
  ask_pcie_now(answers, library, device);
}

void ask_nvlinks(Answers& answers, const Library& library, Device device) {
  std::int64_t links = 0;
  std::int64_t active = 0;
  unsigned version = 0;
  Return first = Return::success;
  for (unsigned link = 0; link < nvml::nvlinks_most; ++link) {
    int state = 0;
    const Return code = library.nvlink_state(device, link, &state);
    if (link == 0) first = code;
    if (code != Return::success) continue;
    ++links;
    if (!on(state)) continue;
    ++active;
    library.nvlink_version(device, link, &version);
  }
  answers.add("nvlink_links", first, links);
  answers.add("nvlink_links_active", first, active);
  const std::string name = nvml::nvlink_version_name(version);
  answers.add("nvlink_version", first, name.empty() ? Fact() : Fact(name));
}

Fact two_bits(unsigned mask, unsigned shift) {
  const unsigned value = mask >> shift & 3U;
  return value == 1 ? Fact(true) : value == 2 ? Fact(false) : Fact();
}

void ask_fabric(Answers& answers, const Library& library, Device device) {
  nvml::FabricInfo info{};
  info.version = nvml::fabric_info_v3;
  Return code = library.fabric(device, &info);
  if (code == Return::argument_version_mismatch || code == Return::invalid_argument) {
    info = {};
    info.version = nvml::fabric_info_v2;
    code = library.fabric(device, &info);
  }
  const bool complete = code == Return::success && info.state == 3;
  answers.add("fabric_state", code, nvml::fabric_state_name(info.state));
  if (!complete) return;
  answers.add("fabric_status", code, info.status == Return::success ? "success" : library.error_text(info.status));
  if (info.health_summary != 0) answers.add("fabric_health", code, nvml::fabric_health_name(info.health_summary));
  answers.add("fabric_degraded_bandwidth", code, two_bits(info.health_mask, nvml::fabric_degraded_bandwidth_shift));
  answers.add("fabric_route_unhealthy", code, two_bits(info.health_mask, nvml::fabric_route_unhealthy_shift));
  // A cluster of zeros only says that this GPU belongs to no NVLink domain of several machines.
  const bool several = std::any_of(std::begin(info.cluster_uuid), std::end(info.cluster_uuid),
                                   [](unsigned char byte) { return byte != 0; });
  answers.add("fabric_spans_machines", code, several);
  if (several) answers.add("fabric_clique", code, static_cast<std::int64_t>(info.clique_id));
}

void ask_modes(Answers& answers, const Library& library, Device device) {
  unsigned pending = 0;
  answers.ask<unsigned>(
      "mig_enabled", [&](unsigned& raw) { return library.mig_mode(device, &raw, &pending); },
      [](unsigned raw) { return raw != 0; });
  answers.ask<int>(
      "virtualization", [&](int& raw) { return library.virtualization(device, &raw); }, nvml::virtualization_name);
  answers.ask<int>(
      "persistence_mode", [&](int& raw) { return library.persistence(device, &raw); }, on);
  answers.ask<int>(
      "compute_mode", [&](int& raw) { return library.compute_mode(device, &raw); }, nvml::compute_mode_name);
}

Return memory_temperature(const Library& library, Device device, unsigned& celsius) {
  nvml::FieldValue field{};
  field.field = nvml::field_memory_temperature;
  const Return code = library.field_values(device, 1, &field);
  celsius = field.value.as_unsigned;
  return code == Return::success ? field.code : code;
}

// Of a MIG instance the sensors, limits and links are those of the whole card: the instance has none of its own.
class Gpu final : public NvmlDevice {
 public:
  Gpu(const Library& library, Device device, Device instance, std::string uuid)
      : library_(library), device_(device), instance_(instance), uuid_(std::move(uuid)) {}

  std::string uuid() const override { return uuid_; }

  Facts identity() const override {
    Answers answers;
    std::array<char, 96> version{};
    const Return code = library_.driver_version(version.data(), static_cast<unsigned>(version.size()));
    answers.add("driver_version", code, std::string(version.data()));
    ask_power(answers, library_, device_);
    ask_clocks(answers, library_, device_);
    ask_memory_health(answers, library_, device_);
    ask_errors(answers, library_, device_);
    ask_processes(answers, library_, device_);
    ask_pcie(answers, library_, device_);
    ask_nvlinks(answers, library_, device_);
    ask_modes(answers, library_, device_);
    if (instance_ != nullptr) ask_instance(answers);
    ask_fabric(answers, library_, device_);
    return std::move(answers).take();
  }

  Facts sample() const override {
    Answers answers;
    answers.ask<unsigned>("sm_clock_mhz", [&](unsigned& raw) { return library_.clock(device_, Clock::sm, &raw); });
    answers.ask<unsigned>("memory_clock_mhz",
                          [&](unsigned& raw) { return library_.clock(device_, Clock::memory, &raw); });
    answers.ask<unsigned>(
        "power_w", [&](unsigned& raw) { return library_.power(device_, &raw); }, watts);
    answers.ask<unsigned>("temperature_c",
                          [&](unsigned& raw) { return library_.temperature(device_, nvml::Sensor::gpu, &raw); });
    answers.ask<unsigned>("memory_temperature_c",
                          [&](unsigned& raw) { return memory_temperature(library_, device_, raw); });
    nvml::Utilization busy{};
    const Return code = library_.utilization(device_, &busy);
    answers.add("utilization_percent", code, static_cast<std::int64_t>(busy.gpu));
    answers.ask<unsigned long long>("throttle_mask",
                                    [&](auto& raw) { return library_.throttle_reasons(device_, &raw); });
    ask_pcie_now(answers, library_, device_);
    for (const auto& [name, kind] : {std::pair("ecc_corrected", nvml::EccError::corrected),
                                     std::pair("ecc_uncorrected", nvml::EccError::uncorrected)})
      answers.ask<unsigned long long>(name, [&, kind = kind](auto& raw) {
        return library_.ecc_errors(device_, kind, nvml::EccCounter::since_driver_load, &raw);
      });
    return std::move(answers).take();
  }

  std::optional<std::vector<std::string>> nvlink_ends() const override {
    std::vector<std::string> ends;
    for (unsigned link = 0; link < nvml::nvlinks_most; ++link) {
      int state = 0;
      const Return code = library_.nvlink_state(device_, link, &state);
      if (code != Return::success && link == 0) return std::nullopt;
      if (code == Return::success && on(state)) ends.push_back(end_of(link));
    }
    return ends;
  }

 private:
  // Hypervisors hide the switches of a machine: the other end then has no type, or a bus id of ones.
  std::string end_of(unsigned link) const {
    nvml::NvLinkEnd end = nvml::NvLinkEnd::gpu;
    const bool typed = library_.nvlink_end(device_, link, &end) == Return::success;
    if (typed && end == nvml::NvLinkEnd::switch_) return "switch";
    nvml::PciInfo remote{};
    if (library_.nvlink_remote(device_, link, &remote) != Return::success) return "";
    return std::strncmp(remote.bus_id, "FFFFFFFF", 8) == 0 || std::strncmp(remote.bus_id, "ffffffff", 8) == 0
               ? "switch"
               : remote.bus_id;
  }

  void ask_instance(Answers& answers) const {
    answers.add("mig_instance", Return::success, true);
    nvml::Attributes attributes{};
    const Return code = library_.attributes(instance_, &attributes);
    answers.add("mig_gpu_slices", code, static_cast<std::int64_t>(attributes.gpu_instance_slices));
    answers.add("mig_compute_slices", code, static_cast<std::int64_t>(attributes.compute_instance_slices));
    answers.add("mig_multiprocessors", code, static_cast<std::int64_t>(attributes.multiprocessors));
    answers.add("mig_memory_mib", code, static_cast<std::int64_t>(attributes.memory_mib));
    answers.add("sensors_of", Return::success, "the whole GPU, shared by its MIG instances");
  }

  const Library& library_;
  Device device_;
  Device instance_;  // null: the whole GPU
  std::string uuid_;
};

class OpenNvml final : public Nvml {
 public:
  explicit OpenNvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}

  Fact driver_version() const override {
    std::array<char, 96> text{};
    const Return code = library_->driver_version(text.data(), static_cast<unsigned>(text.size()));
    return code == Return::success ? Fact(std::string(text.data())) : Fact();
  }

  int device_count() const override {
    unsigned count = 0;
    return library_->device_count(&count) == Return::success ? static_cast<int>(count) : -1;
  }

  NvmlDevice* find(const std::string& uuid, const std::string& pci_bus_id) override {
    Device device = nullptr;
    if (!uuid.empty() && library_->by_uuid(("MIG-" + uuid).c_str(), &device) == Return::success)
      return keep_instance(device);
    const std::string whole = "GPU-" + uuid;
    if (uuid.empty() || library_->by_uuid(whole.c_str(), &device) != Return::success)
      if (library_->by_pci_bus_id(pci_bus_id.c_str(), &device) != Return::success) return nullptr;
    unsigned mig = 0;
    unsigned pending = 0;
    if (library_->mig_mode(device, &mig, &pending) != Return::success || mig == 0)
      return keep(device, nullptr, text_of(library_->uuid, device));
    // CUDA can only have meant an instance of it. Which one is certain when there is one.
    const Device instance = only_instance(device);
    return instance == nullptr ? keep(device, nullptr, "") : keep(device, instance, text_of(library_->uuid, instance));
  }

 private:
  NvmlDevice* keep(Device device, Device instance, std::string uuid) {
    devices_.push_back(std::make_unique<Gpu>(*library_, device, instance, std::move(uuid)));
    return devices_.back().get();
  }

  NvmlDevice* keep_instance(Device instance) {
    Device parent = nullptr;
    if (library_->mig_parent(instance, &parent) != Return::success) parent = instance;
    return keep(parent, instance, text_of(library_->uuid, instance));
  }

  Device only_instance(Device device) const {
    unsigned most = 0;
    library_->mig_most(device, &most);
    Device found = nullptr;
    for (unsigned index = 0; index < most; ++index) {
      Device instance = nullptr;
      if (library_->mig_by_index(device, index, &instance) != Return::success) continue;
      if (found != nullptr) return nullptr;
      found = instance;
    }
    return found;
  }

  std::unique_ptr<Library> library_;
  std::vector<std::unique_ptr<Gpu>> devices_;
};

}  // namespace

NvmlOpened open_nvml(const char* path) {
  auto library = std::make_unique<Library>(path);
  if (!library->reason.empty()) return {nullptr, library->reason};
  return {std::make_unique<OpenNvml>(std::move(library)), ""};
}

}  // namespace claimcheck::kernels::cuda

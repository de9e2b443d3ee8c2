#include "tests/virtual_platform/nvml/handles.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tests/virtual_platform/engine/calls.h"
#include "tests/virtual_platform/engine/device.h"

namespace virtual_platform::nvml {
namespace {

std::atomic<int> initialised{0};

std::vector<Handle> find_handles(bool wanted_instances) {
  std::vector<Handle> found;
  for (std::size_t i = 0; i < spec().gpus.size(); i++) {
    const Gpu& gpu = spec().gpus[i];
    const int index = static_cast<int>(i);
    if (gpu.mig != "instance") {
      if (!wanted_instances) found.push_back({Handle::Kind::gpu, &gpu, index});
      continue;
    }
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Handle& other) { return other.uuid() == gpu.mig_parent_uuid; });
    if (wanted_instances)
      found.push_back({Handle::Kind::instance, &gpu, index});
    else if (!known)
      found.push_back({Handle::Kind::split_gpu, &gpu, index});
  }
  return found;
}

bool is_ours(nvmlDevice_t device) {
  const auto is_it = [&](const Handle& handle) { return &handle == device; };
  return std::any_of(whole_devices().begin(), whole_devices().end(), is_it) ||
         std::any_of(instances().begin(), instances().end(), is_it);
}

// A GPU that fell off the bus is lost to NVML too.
bool is_lost(const Handle& handle) {
  constexpr int cuda_error_unknown = 999;
  constexpr int cuda_error_devices_unavailable = 46;
  if (start_up_error() != 0) return false;
  for (int i = 0; i < device_count(); i++)
    if (device(i).machine_index == handle.machine_index)
      return device(i).error == cuda_error_unknown || device(i).error == cuda_error_devices_unavailable;
  return false;
}

}  // namespace

const std::vector<Handle>& whole_devices() {
  static const auto* handles = new std::vector<Handle>(find_handles(false));
  return *handles;
}

const std::vector<Handle>& instances() {
  static const auto* handles = new std::vector<Handle>(find_handles(true));
  return *handles;
}

const Handle* parent_of(const Handle& instance) {
  for (const Handle& whole : whole_devices())
    if (whole.uuid() == instance.gpu->mig_parent_uuid) return &whole;
  return nullptr;
}

nvmlReturn_t refusal(const char* function) {
  if (const int code = fail_point(function, NVML_ERROR_UNKNOWN)) return code;
  if (initialised == 0) return NVML_ERROR_UNINITIALIZED;
  const std::vector<std::string>& refused = spec().faults.nvml_not_supported;
  return std::find(refused.begin(), refused.end(), function) != refused.end() ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t refusal(const char* function, nvmlDevice_t device) {
  if (const nvmlReturn_t code = refusal(function)) return code;
  if (!is_ours(device)) return NVML_ERROR_INVALID_ARGUMENT;
  return is_lost(*device) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

double sensor(const Gpu& gpu, const char* name, double truth) {
  const auto lie = gpu.lying_sensors.find(name);
  return lie == gpu.lying_sensors.end() ? truth : lie->second;
}

nvmlReturn_t copy_text(const std::string& text, char* target, unsigned size) {
  if (text.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(target, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

void set_initialised(bool value) { initialised += value ? 1 : -1; }

}  // namespace virtual_platform::nvml

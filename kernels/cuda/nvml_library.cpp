#include "kernels/cuda/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace claimcheck::kernels::cuda::nvml {

template <class Function>
void Library::find(Function& function, const char* name, const char* older_name) {
  void* address = dlsym(handle_, name);
  if (address == nullptr && older_name != nullptr) address = dlsym(handle_, older_name);
  function.set(address);
}

Library::Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* text = dlerror();
    reason = text == nullptr ? std::string(path) + " cannot be opened" : text;
    return;
  }
  error_string_ = reinterpret_cast<ErrorString>(dlsym(handle_, "nvmlErrorString"));
  Function<> start;
  find(start, "nvmlInit_v2");
  const Return code = start();
  initialised_ = code == Return::success;
  if (!initialised_) reason = error_text(code);
  find_functions();
}

Library::~Library() {
  Function<> shut_down;
  if (initialised_) {
    find(shut_down, "nvmlShutdown");
    shut_down();
  }
  if (handle_ != nullptr) dlclose(handle_);
}

std::string Library::error_text(Return code) const {
  const char* text = error_string_ == nullptr ? nullptr : error_string_(code);
  return text == nullptr ? fmt::format("NVML error {}", static_cast<int>(code)) : text;
}

void Library::find_functions() {
  find(driver_version, "nvmlSystemGetDriverVersion");
  find(device_count, "nvmlDeviceGetCount_v2");
  find(by_uuid, "nvmlDeviceGetHandleByUUID");
  find(by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  find(uuid, "nvmlDeviceGetUUID");
  find(pci_info, "nvmlDeviceGetPciInfo_v3");
  find(clock, "nvmlDeviceGetClockInfo");
  find(max_clock, "nvmlDeviceGetMaxClockInfo");
  find(application_clock, "nvmlDeviceGetApplicationsClock");
  find(default_application_clock, "nvmlDeviceGetDefaultApplicationsClock");
  find(processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2");
  find(power, "nvmlDeviceGetPowerUsage");
  find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(default_power_limit, "nvmlDeviceGetPowerManagementDefaultLimit");
  find(power_limits, "nvmlDeviceGetPowerManagementLimitConstraints");
  find(temperature, "nvmlDeviceGetTemperature");
  find(field_values, "nvmlDeviceGetFieldValues");
  find(utilization, "nvmlDeviceGetUtilizationRates");
  find(throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(ecc_mode, "nvmlDeviceGetEccMode");
  find(ecc_errors, "nvmlDeviceGetTotalEccErrors");
  find(remapped_rows, "nvmlDeviceGetRemappedRows");
  find(retired_pages_pending, "nvmlDeviceGetRetiredPagesPendingStatus");
  find(pcie_max_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  find(pcie_gpu_max_generation, "nvmlDeviceGetGpuMaxPcieLinkGeneration");
  find(pcie_max_width, "nvmlDeviceGetMaxPcieLinkWidth");
  find(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(nvlink_state, "nvmlDeviceGetNvLinkState");
  find(nvlink_version, "nvmlDeviceGetNvLinkVersion");
  find(nvlink_end, "nvmlDeviceGetNvLinkRemoteDeviceType");
  find(nvlink_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  find(mig_mode, "nvmlDeviceGetMigMode");
  find(mig_most, "nvmlDeviceGetMaxMigDeviceCount");
  find(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
  find(mig_parent, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
  find(attributes, "nvmlDeviceGetAttributes_v2");
  find(virtualization, "nvmlDeviceGetVirtualizationMode");
  find(persistence, "nvmlDeviceGetPersistenceMode");
  find(compute_mode, "nvmlDeviceGetComputeMode");
  find(fabric, "nvmlDeviceGetGpuFabricInfoV");
}

}  // namespace claimcheck::kernels::cuda::nvml

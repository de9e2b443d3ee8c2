// Stand-in for libnvidia-ml.so.1: clocks, power, temperature, modes and error counters. A MIG instance answers few of
// these, as in reality: they belong to the whole GPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tests/virtual_platform/nvml/handles.h"

using namespace virtual_platform;
using namespace virtual_platform::nvml;  // NOLINT(google-build-using-namespace)

namespace {

unsigned rounded(double value) { return static_cast<unsigned>(std::lround(value)); }

// Of functions that a MIG instance and, where the figure is 0, a vGPU does not answer.
nvmlReturn_t whole_gpu(const char* function, nvmlDevice_t device, double figure = 1) {
  if (const nvmlReturn_t code = refusal(function, device)) return code;
  return device->is_instance() || figure == 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

// The bits of nvmlClocksEventReason*.
constexpr std::array<std::pair<const char*, unsigned long long>, 8> reasons = {{{"gpu_idle", 0x1},
                                                                                {"applications_clocks", 0x2},
                                                                                {"sw_power_cap", 0x4},
                                                                                {"hw_slowdown", 0x8},
                                                                                {"sync_boost", 0x10},
                                                                                {"sw_thermal_slowdown", 0x20},
                                                                                {"hw_thermal_slowdown", 0x40},
                                                                                {"hw_power_brake", 0x80}}};

unsigned long long reason_mask(const Gpu& gpu) {
  unsigned long long mask = 0;
  for (const auto& [name, bit] : reasons)
    if (std::find(gpu.throttle_reasons.begin(), gpu.throttle_reasons.end(), name) != gpu.throttle_reasons.end())
      mask |= bit;
  return mask;
}

bool remaps_rows(const Gpu& gpu) { return gpu.compute_capability >= 80; }

// Process numbers that no process of a test has.
nvmlReturn_t processes(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) {
  const auto all = static_cast<unsigned>(device->gpu->other_processes);
  if (*count < all) {
    *count = all;
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  for (unsigned i = 0; i < all; i++) infos[i] = {4000000U + i, 1ULL << 20, ~0U, ~0U};
  *count = all;
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned* mhz) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetClockInfo", device)) return code;
  if (type != NVML_CLOCK_SM && type != NVML_CLOCK_MEM) return NVML_ERROR_NOT_SUPPORTED;
  const Gpu& gpu = *device->gpu;
  *mhz = rounded(type == NVML_CLOCK_SM ? sensor(gpu, "sm_clock_mhz", gpu.sm_clock_mhz)
                                       : sensor(gpu, "memory_clock_mhz", gpu.memory_clock_mhz));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned* mhz) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetMaxClockInfo", device)) return code;
  if (type != NVML_CLOCK_SM && type != NVML_CLOCK_MEM) return NVML_ERROR_NOT_SUPPORTED;
  *mhz = rounded(type == NVML_CLOCK_SM ? device->gpu->sm_clock_max_mhz : device->gpu->memory_clock_mhz);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, int type, unsigned* mhz) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetApplicationsClock", device)) return code;
  if (type != NVML_CLOCK_SM || device->gpu->application_clock_mhz == 0) return NVML_ERROR_NOT_SUPPORTED;
  *mhz = rounded(device->gpu->application_clock_mhz);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, int type, unsigned* mhz) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetDefaultApplicationsClock", device)) return code;
  if (type != NVML_CLOCK_SM || device->gpu->application_clock_default_mhz == 0) return NVML_ERROR_NOT_SUPPORTED;
  *mhz = rounded(device->gpu->application_clock_default_mhz);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  const double watts = device == nullptr ? 0 : device->gpu->power_watts;
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetPowerUsage", device, watts)) return code;
  *milliwatts = rounded(1000 * sensor(*device->gpu, "power_watts", watts));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  const double watts = device == nullptr ? 0 : device->gpu->power_limit_watts;
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetEnforcedPowerLimit", device, watts)) return code;
  *milliwatts = rounded(1000 * watts);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* milliwatts) {
  const double watts = device == nullptr ? 0 : device->gpu->power_limit_default_watts;
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetPowerManagementDefaultLimit", device, watts)) return code;
  *milliwatts = rounded(1000 * watts);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned* least, unsigned* most) {
  const double watts = device == nullptr ? 0 : device->gpu->power_limit_max_watts;
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetPowerManagementLimitConstraints", device, watts)) return code;
  *least = rounded(1000 * device->gpu->power_limit_min_watts);
  *most = rounded(1000 * watts);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int, unsigned* celsius) {
  const double truth = device == nullptr ? 0 : device->gpu->temperature_celsius;
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetTemperature", device, truth)) return code;
  *celsius = rounded(sensor(*device->gpu, "temperature_celsius", truth));
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetFieldValues", device)) return code;
  const double memory = device->is_instance() ? 0 : device->gpu->memory_temperature_celsius;
  for (nvmlFieldValue_t* value = values; value != values + count; value++) {
    const bool known = value->fieldId == NVML_FI_DEV_MEMORY_TEMP && memory > 0;
    value->nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    if (!known) continue;
    value->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    value->value.uiVal = rounded(sensor(*device->gpu, "memory_temperature_celsius", memory));
  }
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* rates) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetUtilizationRates", device)) return code;
  *rates = {100, 50};
  return NVML_SUCCESS;
}

// Under its former name too, as the real library has it.
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* mask) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetCurrentClocksThrottleReasons", device)) return code;
  *mask = reason_mask(*device->gpu);
  return NVML_SUCCESS;
}

#ifndef CLAIMCHECK_NVML_OLD
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* mask) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetCurrentClocksEventReasons", device)) return code;
  *mask = reason_mask(*device->gpu);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetRemappedRows", device)) return code;
  const Gpu& gpu = *device->gpu;
  if (!remaps_rows(gpu)) return NVML_ERROR_NOT_SUPPORTED;
  *corrected = static_cast<unsigned>(gpu.remapped_rows_corrected);
  *uncorrected = static_cast<unsigned>(gpu.remapped_rows_uncorrected);
  *pending = gpu.remapping_pending ? 1 : 0;
  *failed = gpu.remapping_failed ? 1 : 0;
  return NVML_SUCCESS;
}
#endif

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, int* pending) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetRetiredPagesPendingStatus", device)) return code;
  if (remaps_rows(*device->gpu)) return NVML_ERROR_NOT_SUPPORTED;
  *pending = device->gpu->remapping_pending ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int* current, int* pending) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetEccMode", device)) return code;
  if (device->gpu->ecc == "unsupported") return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = device->gpu->ecc == "enabled" ? 1 : 0;
  return NVML_SUCCESS;
}

// Under its former name too, which has the same structure.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetComputeRunningProcesses_v2", device)) return code;
  return processes(device, count, infos);
}

#ifndef CLAIMCHECK_NVML_OLD
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetComputeRunningProcesses_v3", device)) return code;
  return processes(device, count, infos);
}
#endif

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int counter, unsigned long long* count) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetTotalEccErrors", device)) return code;
  if (device->gpu->ecc != "enabled") return NVML_ERROR_NOT_SUPPORTED;
  const Gpu& gpu = *device->gpu;
  const std::int64_t uncorrected = counter == NVML_VOLATILE_ECC ? gpu.ecc_uncorrected : gpu.ecc_uncorrected_lifetime;
  *count = static_cast<unsigned long long>(type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? gpu.ecc_corrected : uncorrected);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, int* mode) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetVirtualizationMode", device)) return code;
  const std::string& word = device->gpu->virtualization;
  *mode = word == "vgpu" ? 2 : word == "passthrough" ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int* mode) {
  if (const nvmlReturn_t code = whole_gpu("nvmlDeviceGetPersistenceMode", device)) return code;
  *mode = device->gpu->persistence == "enabled" ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int* mode) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetComputeMode", device)) return code;
  *mode = 0;
  return NVML_SUCCESS;
}

#pragma GCC visibility pop
}

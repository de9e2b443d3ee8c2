// Stand-in for libnvidia-ml.so.1: start and end, finding devices, what they are called and where they are.
// With CLAIMCHECK_NVML_OLD it is the library of an older driver, without the functions that came later.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "tests/virtual_platform/engine/calls.h"
#include "tests/virtual_platform/nvml/handles.h"

using namespace virtual_platform;        // the functions' names are global
using namespace virtual_platform::nvml;  // NOLINT(google-build-using-namespace)

namespace {

nvmlReturn_t find_by(const char* wanted, nvmlDevice_t* found, bool (*fits)(const Handle&, const std::string&)) {
  if (wanted == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (const std::vector<Handle>* handles : {&whole_devices(), &instances()})
    for (const Handle& handle : *handles)
      if (fits(handle, wanted)) {
        *found = &handle;
        return NVML_SUCCESS;
      }
  return NVML_ERROR_NOT_FOUND;
}

struct BusId {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
};

bool parse(const std::string& text, BusId& id) {
  return std::sscanf(text.c_str(), "%x:%x:%x", &id.domain, &id.bus, &id.device) == 3;
}

nvmlReturn_t fill_pci(const std::string& bus_id, nvmlPciInfo_t* pci) {
  BusId id;
  if (!parse(bus_id, id)) return NVML_ERROR_UNKNOWN;
  *pci = {};
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", id.domain & 0xffffU, id.bus & 0xffU,
                id.device & 0xffU);
  std::snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", id.domain, id.bus & 0xffU, id.device & 0xffU);
  pci->domain = id.domain;
  pci->bus = id.bus;
  pci->device = id.device;
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

nvmlReturn_t nvmlInit_v2() {
  if (const int code = fail_point("nvmlInit_v2", NVML_ERROR_UNKNOWN)) return code;
  const Faults& faults = spec().faults;
  if (faults.start_up == "no_driver") return NVML_ERROR_DRIVER_NOT_LOADED;
  if (faults.nvml == "mismatch" || faults.start_up == "803") return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  set_initialised(true);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown() {
  if (const nvmlReturn_t code = refusal("nvmlShutdown")) return code;
  set_initialised(false);
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t code) {
  switch (code) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned size) {
  if (const nvmlReturn_t code = refusal("nvmlSystemGetDriverVersion")) return code;
  return copy_text(spec().driver_version, version, size);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetCount_v2")) return code;
  *count = static_cast<unsigned>(whole_devices().size());
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* found) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetHandleByUUID")) return code;
  return find_by(uuid, found, [](const Handle& handle, const std::string& wanted) { return handle.uuid() == wanted; });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* found) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetHandleByPciBusId_v2")) return code;
  return find_by(bus_id, found, [](const Handle& handle, const std::string& wanted) {
    BusId own;
    BusId other;
    return parse(handle.gpu->pci_bus_id, own) && parse(wanted, other) && own.domain == other.domain &&
           own.bus == other.bus && own.device == other.device;
  });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned size) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetUUID", device)) return code;
  return copy_text(device->uuid(), uuid, size);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetPciInfo_v3", device)) return code;
  return fill_pci(device->gpu->pci_bus_id, pci);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetMigMode", device)) return code;
  if (device->is_instance()) return NVML_ERROR_INVALID_ARGUMENT;
  if (device->kind == Handle::Kind::gpu && device->gpu->mig == "unsupported") return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = device->kind == Handle::Kind::split_gpu ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetMaxMigDeviceCount", device)) return code;
  *count = device->gpu->mig == "unsupported" ? 0 : 7;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t* found) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetMigDeviceHandleByIndex", device)) return code;
  if (device->kind != Handle::Kind::split_gpu) return NVML_ERROR_NOT_SUPPORTED;
  for (const Handle& instance : instances())
    if (parent_of(instance) == device && index-- == 0) {
      *found = &instance;
      return NVML_SUCCESS;
    }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t instance, nvmlDevice_t* found) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", instance)) return code;
  if (!instance->is_instance()) return NVML_ERROR_INVALID_ARGUMENT;
  *found = parent_of(*instance);
  return *found == nullptr ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetAttributes_v2", device)) return code;
  if (!device->is_instance()) return NVML_ERROR_NOT_SUPPORTED;
  *attributes = {};
  attributes->multiprocessorCount = static_cast<unsigned>(device->gpu->sms);
  attributes->sharedCopyEngineCount = static_cast<unsigned>(device->gpu->copy_engines);
  attributes->gpuInstanceSliceCount = attributes->computeInstanceSliceCount =
      static_cast<unsigned>(std::atoi(device->gpu->mig_profile.c_str()));
  attributes->memorySizeMB = static_cast<unsigned long long>(device->gpu->memory_mib);
  return NVML_SUCCESS;
}

#pragma GCC visibility pop
}

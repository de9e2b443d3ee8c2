// Devices: which there are, what they are, which reach each other.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "tests/virtual_platform/cudart/runtime.h"

using namespace virtual_platform;          // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cudart;  // NOLINT(google-build-using-namespace)

namespace {

std::size_t memory_bytes(const Gpu& gpu) { return static_cast<std::size_t>(gpu.memory_mib * 1048576); }

// "GPU-xxxxxxxx-xxxx-..." or "MIG-...": the bytes of the hexadecimal digits.
cudaUUID_t uuid_of(const std::string& text) {
  cudaUUID_t uuid{};
  std::string digits;
  for (const char c : text.substr(std::min<std::size_t>(4, text.size())))
    if (c != '-') digits += c;
  for (std::size_t i = 0; i < sizeof uuid.bytes && 2 * i + 1 < digits.size(); ++i)
    uuid.bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return uuid;
}

int pci_part(const Gpu& gpu, int part) {
  unsigned numbers[3] = {};
  std::sscanf(gpu.pci_bus_id.c_str(), "%x:%x:%x", &numbers[0], &numbers[1], &numbers[2]);
  return static_cast<int>(numbers[part]);
}

}  // namespace

CLAIMCHECK_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t status = enter("cudaGetDeviceCount")) {
    *count = 0;
    return status;
  }
  *count = device_count();
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaSetDevice(int index) {
  if (const cudaError_t status = enter("cudaSetDevice")) return status;
  if (!is_device(index)) return failed(cudaErrorInvalidDevice);
  set_current_device(index);
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaGetDevice(int* index) {
  if (const cudaError_t status = enter("cudaGetDevice")) return status;
  *index = current_device();
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  // Asks the driver alone, and answers 0 where there is none.
  if (const cudaError_t status = enter("cudaDriverGetVersion"); status == cudaErrorUnknown) return status;
  failed(cudaSuccess);
  *version = spec().faults.start_up == "no_driver" ? 0 : spec().cuda_driver_version;
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  if (const cudaError_t status = enter("cudaRuntimeGetVersion"); status == cudaErrorUnknown) return status;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  if (const cudaError_t status = enter("cudaGetDeviceProperties")) return status;
  if (!is_device(index)) return failed(cudaErrorInvalidDevice);
  const Gpu& gpu = *device(index).gpu;
  std::memset(properties, 0, sizeof *properties);
  std::snprintf(properties->name, sizeof properties->name, "%s", gpu.name.c_str());
  properties->uuid = uuid_of(gpu.uuid);
  properties->totalGlobalMem = memory_bytes(gpu);
  properties->major = gpu.compute_capability / 10;
  properties->minor = gpu.compute_capability % 10;
  properties->multiProcessorCount = gpu.sms;
  properties->l2CacheSize = static_cast<int>(gpu.l2_kib * 1024);
  properties->memoryBusWidth = gpu.memory_bus_bits;
  properties->asyncEngineCount = gpu.copy_engines;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->ECCEnabled = static_cast<int>(gpu.ecc == "enabled");
  properties->pciDomainID = pci_part(gpu, 0);
  properties->pciBusID = pci_part(gpu, 1);
  properties->pciDeviceID = pci_part(gpu, 2);
  properties->unifiedAddressing = 1;
  properties->canMapHostMemory = 1;
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int index) {
  if (const cudaError_t status = enter("cudaDeviceGetAttribute")) return status;
  if (!is_device(index)) return failed(cudaErrorInvalidDevice);
  const Gpu& gpu = *device(index).gpu;
  switch (attribute) {
    case cudaDevAttrClockRate:
      *value = gpu.sm_clock_max_mhz * 1000;
      return cudaSuccess;
    case cudaDevAttrMemoryClockRate:
      *value = gpu.memory_clock_mhz * 1000;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = gpu.sms;
      return cudaSuccess;
    default:
      std::fprintf(stderr, "virtual platform: device attribute %d is not modelled\n", static_cast<int>(attribute));
      return failed(cudaErrorInvalidValue);
  }
}

CLAIMCHECK_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int index) {
  if (const cudaError_t status = enter("cudaDeviceGetPCIBusId")) return status;
  if (!is_device(index)) return failed(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(bytes), "%s", device(index).gpu->pci_bus_id.c_str());
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* possible, int from, int owner) {
  if (const cudaError_t status = enter("cudaDeviceCanAccessPeer")) return status;
  if (!is_device(from) || !is_device(owner)) return failed(cudaErrorInvalidDevice);
  *possible = static_cast<int>(from != owner && link_gbps(from, owner) > 0);
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int owner, unsigned /*flags*/) {
  if (const cudaError_t status = enter_here("cudaDeviceEnablePeerAccess")) return status;
  const int from = current_device();
  if (!is_device(owner) || owner == from) return failed(cudaErrorInvalidDevice);
  if (link_gbps(from, owner) <= 0) return failed(cudaErrorPeerAccessUnsupported);
  const std::lock_guard lock(engine_mutex());
  const std::uint64_t bit = std::uint64_t{1} << owner;
  if ((device(from).peers & bit) != 0) return failed(cudaErrorPeerAccessAlreadyEnabled);
  device(from).peers |= bit;
  return cudaSuccess;
}

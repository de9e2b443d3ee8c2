// A libnvidia-ml.so.1 of an old driver, with few functions: three GPUs, told apart by the handle, and one MIG instance.
#include <unistd.h>

#include <cstring>

#include "kernels/cuda/nvml_abi.h"

using claimcheck::kernels::cuda::nvml::Clock;
using claimcheck::kernels::cuda::nvml::EccCounter;
using claimcheck::kernels::cuda::nvml::EccError;
using claimcheck::kernels::cuda::nvml::FabricInfo;
using claimcheck::kernels::cuda::nvml::ProcessInfo;
using claimcheck::kernels::cuda::nvml::Return;

namespace {
const char healthy = 0;
const char lost = 0;
const char sick = 0;
const char instance = 0;

struct Known {
  const char* uuid;
  const void* handle;
};
constexpr Known known[] = {
    {"GPU-healthy", &healthy}, {"GPU-lost", &lost}, {"GPU-sick", &sick}, {"MIG-slice", &instance}};

Return of(const void* device, Return when_sick) {
  return device == &lost ? Return::gpu_is_lost : device == &sick ? when_sick : Return::success;
}
}  // namespace

extern "C" {
Return nvmlInit_v2() { return Return::success; }
Return nvmlShutdown() { return Return::success; }
const char* nvmlErrorString(Return code) { return code == Return::not_found ? "Not Found" : "Other"; }
Return nvmlSystemGetDriverVersion(char* text, unsigned) {
  std::strcpy(text, "virtual-470.1");
  return Return::success;
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return Return::success;
}
Return nvmlDeviceGetHandleByUUID(const char* uuid, const void** device) {
  for (const Known& one : known)
    if (std::strcmp(one.uuid, uuid) == 0) {
      *device = one.handle;
      return Return::success;
    }
  return Return::not_found;
}
Return nvmlDeviceGetHandleByPciBusId_v2(const char* place, const void** device) {
  if (std::strcmp(place, "0000:17:00.0") != 0) return Return::not_found;
  *device = &healthy;
  return Return::success;
}
Return nvmlDeviceGetUUID(const void* device, char* text, unsigned) {
  for (const Known& one : known)
    if (one.handle == device) std::strcpy(text, one.uuid);
  return Return::success;
}
Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const void* device, const void** parent) {
  *parent = &healthy;
  return device == &instance ? Return::success : Return::invalid_argument;
}
Return nvmlDeviceGetPowerUsage(const void* device, unsigned* milliwatts) {
  *milliwatts = 71500;
  return of(device, Return::unknown);
}
Return nvmlDeviceGetClockInfo(const void* device, Clock clock, unsigned* mhz) {
  *mhz = clock == Clock::sm ? 1410 : 1215;
  return of(device, Return::no_permission);
}
// The older name: the newer one is missing.
Return nvmlDeviceGetCurrentClocksThrottleReasons(const void* device, unsigned long long* mask) {
  *mask = 0x44;
  return of(device, Return::not_supported);
}
Return nvmlDeviceGetTotalEccErrors(const void* device, EccError kind, EccCounter, unsigned long long* count) {
  *count = kind == EccError::corrected ? 3 : 0;
  return of(device, Return::not_supported);
}
// The older name of this one, too. Two processes, of which one is the test itself.
Return nvmlDeviceGetComputeRunningProcesses_v2(const void* device, unsigned* count, ProcessInfo* infos) {
  if (*count < 2) return Return::insufficient_size;
  infos[0] = {static_cast<unsigned>(getpid()), 1 << 20, 0, 0};
  infos[1] = {4000000, 1 << 20, 0, 0};
  *count = 2;
  return of(device, Return::no_permission);
}
Return nvmlDeviceGetApplicationsClock(const void* device, Clock, unsigned* mhz) {
  *mhz = 1095;
  return of(device, Return::not_supported);
}
Return nvmlDeviceGetNvLinkState(const void* device, unsigned link, int* active) {
  *active = link < 10 ? 1 : 0;
  return link < 12 ? of(device, Return::not_supported) : Return::invalid_argument;
}
Return nvmlDeviceGetNvLinkVersion(const void*, unsigned, unsigned* version) {
  *version = 4;
  return Return::success;
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(const void*, unsigned link, int* type) {
  *type = link == 0 ? 0 : 2;
  return Return::success;
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(const void*, unsigned, claimcheck::kernels::cuda::nvml::PciInfo* place) {
  std::strcpy(place->bus_id, "00000000:2A:00.0");
  return Return::success;
}
// Knows version 2 of the structure only.
Return nvmlDeviceGetGpuFabricInfoV(const void*, FabricInfo* info) {
  if (info->version != (36U | 2U << 24)) return Return::argument_version_mismatch;
  info->state = 3;
  info->status = Return::success;
  info->health_mask = 0x22;  // bandwidth not degraded, route not unhealthy
  return Return::success;
}
}

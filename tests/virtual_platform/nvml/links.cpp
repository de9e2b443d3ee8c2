// Stand-in for libnvidia-ml.so.1: PCIe, NVLink and the fabric.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/virtual_platform/nvml/handles.h"

using namespace virtual_platform;
using namespace virtual_platform::nvml;  // NOLINT(google-build-using-namespace)

namespace {

nvmlReturn_t pcie(const char* function, nvmlDevice_t device, int Gpu::*figure, unsigned* value) {
  if (const nvmlReturn_t code = refusal(function, device)) return code;
  if (device->is_instance() || device->gpu->*figure == 0) return NVML_ERROR_NOT_SUPPORTED;
  *value = static_cast<unsigned>(device->gpu->*figure);
  return NVML_SUCCESS;
}

// Number of the GPU at the other end, in a machine with links between GPUs; -1: a switch. A pair has as many links as
// its rate is a multiple of the slowest pair's.
int other_end(const Handle& handle, unsigned link) {
  const std::vector<std::vector<double>>& matrix = spec().links.matrix;
  if (matrix.empty()) return -1;
  double slowest = 0;
  for (const std::vector<double>& row : matrix)
    for (const double rate : row)
      if (rate > 0 && (slowest == 0 || rate < slowest)) slowest = rate;
  const std::vector<double>& row = matrix[static_cast<std::size_t>(handle.machine_index)];
  const double all = std::max(1.0, std::round(*std::max_element(row.begin(), row.end()) / slowest));
  double sum = 0;
  for (const double rate : row) sum += std::round(rate / slowest);
  // Where bridges join pairs, every link of the GPU goes to the one neighbour.
  const double bundle = sum == all ? handle.gpu->nvlinks / sum : 1;
  double at = 0;
  for (std::size_t peer = 0; peer < row.size(); peer++) {
    at += bundle * std::round(row[peer] / slowest);
    if (link < at) return static_cast<int>(peer);
  }
  return -1;
}

nvmlReturn_t nvlink(const char* function, nvmlDevice_t device, unsigned link) {
  if (const nvmlReturn_t code = refusal(function, device)) return code;
  const Gpu& gpu = *device->gpu;
  if (device->is_instance() || gpu.nvlinks + gpu.nvlinks_inactive == 0) return NVML_ERROR_NOT_SUPPORTED;
  return link < static_cast<unsigned>(gpu.nvlinks + gpu.nvlinks_inactive) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

bool is_active(const Handle& handle, unsigned link) { return link < static_cast<unsigned>(handle.gpu->nvlinks); }

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return pcie("nvmlDeviceGetMaxPcieLinkGeneration", device, &Gpu::pcie_generation_max, generation);
}

#ifndef CLAIMCHECK_NVML_OLD
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return pcie("nvmlDeviceGetGpuMaxPcieLinkGeneration", device, &Gpu::pcie_generation_max, generation);
}
#endif

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return pcie("nvmlDeviceGetMaxPcieLinkWidth", device, &Gpu::pcie_width_max, width);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return pcie("nvmlDeviceGetCurrPcieLinkGeneration", device, &Gpu::pcie_generation, generation);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return pcie("nvmlDeviceGetCurrPcieLinkWidth", device, &Gpu::pcie_width, width);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, int* active) {
  if (const nvmlReturn_t code = nvlink("nvmlDeviceGetNvLinkState", device, link)) return code;
  *active = is_active(*device, link) ? 1 : 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned* version) {
  if (const nvmlReturn_t code = nvlink("nvmlDeviceGetNvLinkVersion", device, link)) return code;
  // The library's numbers are no generations: 2.2 is 3, 3.0 is 4, 3.1 is 5.
  constexpr unsigned numbers[] = {0, 1, 2, 4, 6, 7};
  *version = numbers[std::clamp(device->gpu->nvlink_version, 0, 5)];
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  if (const nvmlReturn_t code = nvlink("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link)) return code;
  if (!is_active(*device, link)) return NVML_ERROR_NOT_SUPPORTED;
  *pci = {};
  const int peer = other_end(*device, link);
  const std::string id = peer < 0 ? "0000:05:00.0" : spec().gpus[static_cast<std::size_t>(peer)].pci_bus_id;
  std::sscanf(id.c_str(), "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%.15s", id.c_str());
  std::snprintf(pci->busId, sizeof pci->busId, "0000%s", id.c_str());
  return NVML_SUCCESS;
}

#ifndef CLAIMCHECK_NVML_OLD
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link, int* type) {
  if (const nvmlReturn_t code = nvlink("nvmlDeviceGetNvLinkRemoteDeviceType", device, link)) return code;
  if (!is_active(*device, link)) return NVML_ERROR_NOT_SUPPORTED;
  *type = other_end(*device, link) < 0 ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
  if (const nvmlReturn_t code = refusal("nvmlDeviceGetGpuFabricInfoV", device)) return code;
  constexpr unsigned version_2 = 36U | 2U << 24;
  constexpr unsigned version_3 = 40U | 3U << 24;
  if (info->version != version_2 && info->version != version_3) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  const std::string& word = device->gpu->fabric;
  if (device->is_instance() || word == "unsupported") return NVML_ERROR_NOT_SUPPORTED;
  // Written member by member: of version 2 the rest is not ours.
  std::memset(info->clusterUuid, 0, sizeof info->clusterUuid);
  info->status = NVML_SUCCESS;
  info->cliqueId = 0;
  info->state = word == "completed" ? 3 : word == "in_progress" ? 2 : 1;
  // Degraded bandwidth, route recovery, unhealthy route, access timeout: all "false", which is 2 in two bits each.
  info->healthMask = 0xaa;
  if (info->version == version_3) info->healthSummary = 1;
  return NVML_SUCCESS;
}
#endif

#pragma GCC visibility pop
}

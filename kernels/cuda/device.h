// One GPU: memory, copies and kernels. Products, collectives and sensors are in files of their own.
#pragma once

#include <memory>

#include "kernels/cuda/nvml.h"
#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// What the implementation needs to know of a GPU, beside the facts it shows.
struct Gpu {
  int ordinal = 0;                // CUDA's, among the visible devices
  int capability = 0;             // 10 x major + minor: 75, 90, 120
  int numa_node = -1;             // of the PCIe slot, -1 when unknown
  NvmlDevice* sensors = nullptr;  // null when NVML is absent or does not know it; outlives the device
  Duration deadline{60};          // PlatformOptions::deadline
  DeviceFacts facts;
};

std::unique_ptr<Device> make_device(Gpu gpu);
const Gpu& gpu_of(const Device& device);  // of a device made here

// gemm.cpp: throws unsupported with the reason.
std::unique_ptr<Gemm> make_gemm(const Gpu& gpu, DataType type, const GemmShape& shape);
// neural.cu: in bf16 from compute capability 8.0, in fp32 below.
std::unique_ptr<Neural> make_neural(const Gpu& gpu);
// watch.cpp
std::unique_ptr<Watch> make_watch(const Gpu& gpu);
// group.cpp
std::unique_ptr<Group> make_group(std::span<Device* const> local, World& world);
// pinned.cpp: pinned host memory on a NUMA node (-1: anywhere), usable by all GPUs.
std::unique_ptr<Buffer> allocate_pinned(std::size_t size_bytes, int numa_node);

}  // namespace claimcheck::kernels::cuda

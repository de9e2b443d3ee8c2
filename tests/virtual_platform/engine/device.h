// The GPUs a CUDA process sees, in its order, and the thread's current one.
#pragma once

#include <array>
#include <cstdint>

#include "tests/virtual_platform/engine/spec.h"

namespace virtual_platform {

// What does one thing at a time.
enum class Engine { compute, h2d, d2h, link_in, link_out };
constexpr std::size_t engines = 5;

struct Device {
  int index = 0;          // CUDA's ordinal
  int machine_index = 0;  // in Spec::gpus
  const Gpu* gpu = nullptr;
  int error = 0;                          // cudaError_t that stays: the device is lost to this process
  std::uint64_t peers = 0;                // bit i: access to the memory of device i is enabled
  std::array<double, engines> free_at{};  // virtual time
};

int device_count();
Device& device(int index);
int current_device();
void set_current_device(int index);

// cudaError_t with which every call fails on this machine: no driver, no device, 802, 803, 804; or 0.
int start_up_error();

// One way, in GB/s, when device `from` reads the memory of device `owner`; 0: no peer access.
double link_gbps(int from, int owner);

}  // namespace virtual_platform

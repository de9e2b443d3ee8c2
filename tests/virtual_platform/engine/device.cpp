#include "tests/virtual_platform/engine/device.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace virtual_platform {

namespace {

struct Devices {
  Devices() {
    const std::string& fault = spec().faults.start_up;
    if (fault == "no_driver" || fault == "old_driver") error = 35;  // cudaErrorInsufficientDriver
    if (fault == "no_device") error = 100;
    if (fault == "802" || fault == "803" || fault == "804") error = std::stoi(fault);
    if (error != 0) return;
    for (const int index : visible_gpus(spec(), std::getenv("CUDA_VISIBLE_DEVICES"))) {
      Device one;
      one.index = static_cast<int>(all.size());
      one.machine_index = index;
      one.gpu = &spec().gpus[static_cast<std::size_t>(index)];
      std::ifstream(gone_file(index)) >> one.error;
      all.push_back(one);
    }
    if (all.empty()) error = 100;  // cudaErrorNoDevice
    if (all.size() > 64) {
      std::fprintf(stderr, "virtual platform: %zu GPUs are too many, 64 are the most\n", all.size());
      std::abort();
    }
  }

  std::vector<Device> all;
  int error = 0;
};

Devices& devices() {
  static Devices& one = *new Devices;
  return one;
}

thread_local int current = 0;

}  // namespace

int device_count() { return static_cast<int>(devices().all.size()); }
Device& device(int index) { return devices().all.at(static_cast<std::size_t>(index)); }
int current_device() { return current; }
void set_current_device(int index) { current = index; }
int start_up_error() { return devices().error; }

double link_gbps(int from, int owner) {
  return spec().link_gbps(device(from).machine_index, device(owner).machine_index);
}

}  // namespace virtual_platform

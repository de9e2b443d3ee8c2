// Why no GPU can be used, in one sentence with one remedy, from what the CUDA runtime says and what the system shows.
// Pure but for read_system(), which reads a few small files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kernels/error.h"

namespace claimcheck::kernels::cuda {

struct SystemView {
  int gpus = 0;               // PCI display or 3D controllers of NVIDIA
  std::string kernel_driver;  // version of the loaded kernel module, empty: not loaded
  bool device_files = false;  // /dev/nvidiactl is there
  bool container = false;
  std::string libcuda;  // file of the driver library in this process, empty: none
};

SystemView read_system(const std::filesystem::path& root = "/");

// What cudaGetDeviceCount() left. Versions as CUDA writes them: 13000 is 13.0, 0 is "no driver library".
struct OpenFailure {
  int code = 0;      // cudaError_t; 0: no error, and no devices
  std::string name;  // "cudaErrorNoDevice"
  std::string text;  // the runtime's own words
  int driver_api = 0;
  int runtime = 0;
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES
  int nvml_devices = -1;               // GPUs that NVML knows, -1: unknown
  std::string nvml_reason;             // why NVML does not start
};

Error::Detail explain(const OpenFailure& failure, const SystemView& system);

}  // namespace claimcheck::kernels::cuda

// The driver's management library, opened at run time by its SONAME: the worker must start where it is missing, and an
// old library lacks functions. What cannot be asked is "unknown", never 0.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// One GPU, or one MIG instance of it.
class NvmlDevice {
 public:
  virtual ~NvmlDevice() = default;
  virtual Facts identity()
      const = 0;                     // once: names, limits, modes, PCIe and NVLink capability, ECC, row remaps, fabric
  virtual Facts sample() const = 0;  // quickly changing: clocks, power, temperature, throttle reasons, link state
  virtual std::string uuid() const = 0;  // as nvidia-smi prints it, "GPU-..." or "MIG-..."; empty when unknown
  // Where each active NVLink ends: a PCI bus id ("00000000:17:00.0"), or "switch". Unknown: nullopt.
  virtual std::optional<std::vector<std::string>> nvlink_ends() const = 0;
};

class Nvml {
 public:
  virtual ~Nvml() = default;
  virtual Fact driver_version() const = 0;
  // By CUDA's UUID, without the prefix that tells a GPU from a MIG instance, else by place. Null when unknown to it.
  virtual NvmlDevice* find(const std::string& uuid, const std::string& pci_bus_id) = 0;
  virtual int device_count() const = 0;  // also those CUDA does not see; -1 when unknown
};

// Null with the reason when the library is missing or does not start ("driver/library version mismatch", ...).
struct NvmlOpened {
  std::unique_ptr<Nvml> nvml;
  std::string reason;
};
NvmlOpened open_nvml(const char* path = "libnvidia-ml.so.1");

}  // namespace claimcheck::kernels::cuda

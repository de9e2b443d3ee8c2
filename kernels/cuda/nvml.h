// The driver's management library, opened at run time by its SONAME: the worker must start where it is missing, and an
// old library lacks functions. What cannot be asked is "unknown", never 0.
#pragma once

#include <memory>
#include <string>

#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// One GPU, or one MIG instance of it.
class NvmlDevice {
 public:
  virtual ~NvmlDevice() = default;
  virtual Facts identity()
      const = 0;                     // once: names, limits, modes, PCIe and NVLink capability, ECC, row remaps, fabric
  virtual Facts sample() const = 0;  // quickly changing: clocks, power, temperature, throttle reasons, link state
};

class Nvml {
 public:
  virtual ~Nvml() = default;
  virtual Fact driver_version() const = 0;
  virtual NvmlDevice* find(const std::string& uuid, const std::string& pci_bus_id) = 0;  // null when unknown to it
  virtual int device_count() const = 0;  // also those CUDA does not see; -1 when unknown
};

// Null with the reason when the library is missing or does not start ("driver/library version mismatch", ...).
struct NvmlOpened {
  std::unique_ptr<Nvml> nvml;
  std::string reason;
};
NvmlOpened open_nvml();

}  // namespace claimcheck::kernels::cuda

// The functions of libnvidia-ml.so.1, found at run time. One that the library lacks answers "function not found".
#pragma once

#include <string>

#include "kernels/cuda/nvml_abi.h"

namespace claimcheck::kernels::cuda::nvml {

template <class... Arguments>
class Function {
 public:
  using Pointer = Return (*)(Arguments...);

  void set(void* address) { pointer_ = reinterpret_cast<Pointer>(address); }
  explicit operator bool() const { return pointer_ != nullptr; }
  Return operator()(Arguments... arguments) const {
    return pointer_ == nullptr ? Return::function_not_found : pointer_(arguments...);
  }

 private:
  Pointer pointer_ = nullptr;
};

// Names in the library: those of the members, see nvml_library.cpp.
struct Library {
  explicit Library(const char* path);  // opens and initialises; on failure `reason` says why
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string reason;  // empty: usable
  std::string error_text(Return code) const;

  Function<char*, unsigned> driver_version;
  Function<unsigned*> device_count;
  Function<const char*, Device*> by_uuid;
  Function<const char*, Device*> by_pci_bus_id;
  Function<Device, char*, unsigned> uuid;
  Function<Device, PciInfo*> pci_info;
  Function<Device, Clock, unsigned*> clock;
  Function<Device, Clock, unsigned*> max_clock;
  Function<Device, Clock, unsigned*> application_clock;
  Function<Device, Clock, unsigned*> default_application_clock;
  Function<Device, unsigned*, ProcessInfo*> processes;
  Function<Device, unsigned*> power;
  Function<Device, unsigned*> power_limit;
  Function<Device, unsigned*> default_power_limit;
  Function<Device, unsigned*, unsigned*> power_limits;
  Function<Device, Sensor, unsigned*> temperature;
  Function<Device, int, FieldValue*> field_values;
  Function<Device, Utilization*> utilization;
  Function<Device, unsigned long long*> throttle_reasons;
  Function<Device, int*, int*> ecc_mode;
  Function<Device, EccError, EccCounter, unsigned long long*> ecc_errors;
  Function<Device, unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows;
  Function<Device, int*> retired_pages_pending;
  Function<Device, unsigned*> pcie_max_generation;
  Function<Device, unsigned*> pcie_gpu_max_generation;
  Function<Device, unsigned*> pcie_max_width;
  Function<Device, unsigned*> pcie_generation;
  Function<Device, unsigned*> pcie_width;
  Function<Device, unsigned, int*> nvlink_state;
  Function<Device, unsigned, unsigned*> nvlink_version;
  Function<Device, unsigned, NvLinkEnd*> nvlink_end;
  Function<Device, unsigned, PciInfo*> nvlink_remote;
  Function<Device, unsigned*, unsigned*> mig_mode;
  Function<Device, unsigned*> mig_most;
  Function<Device, unsigned, Device*> mig_by_index;
  Function<Device, Device*> mig_parent;
  Function<Device, Attributes*> attributes;
  Function<Device, int*> virtualization;
  Function<Device, int*> persistence;
  Function<Device, int*> compute_mode;
  Function<Device, FabricInfo*> fabric;

 private:
  using ErrorString = const char* (*)(Return);

  void find_functions();
  template <class Function>
  void find(Function& function, const char* name, const char* older_name = nullptr);

  void* handle_ = nullptr;
  bool initialised_ = false;
  ErrorString error_string_ = nullptr;
};

}  // namespace claimcheck::kernels::cuda::nvml

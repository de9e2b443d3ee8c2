// What this program uses of the interface of libnvidia-ml.so.1. The toolkit's image does not always have nvml.h, and
// the interface is stable by name and version, so it is declared here, after NVIDIA's public "NVML API Reference
// Guide".
#pragma once

#include <cstddef>

namespace claimcheck::kernels::cuda::nvml {

struct DeviceOpaque;
using Device = DeviceOpaque*;

enum class Return : int {
  success = 0,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  driver_not_loaded = 9,
  function_not_found = 13,
  gpu_is_lost = 15,
  reset_required = 16,
  operating_system = 17,
  insufficient_size = 7,
  version_mismatch = 18,
  argument_version_mismatch = 25,
  deprecated = 26,
  unknown = 999
};

enum class Clock : int { sm = 1, memory = 2 };
enum class Sensor : int { gpu = 0 };
enum class EccError : int { corrected = 0, uncorrected = 1 };
enum class EccCounter : int { since_driver_load = 0, lifetime = 1 };
enum class NvLinkEnd : int { gpu = 0, switch_ = 2 };

constexpr unsigned nvlinks_most = 18;
constexpr unsigned field_memory_temperature = 82;

// Reasons for which clocks are below what was asked for: a bit mask.
constexpr unsigned long long reason_gpu_idle = 0x1;
constexpr unsigned long long reason_application_clocks = 0x2;
constexpr unsigned long long reason_sw_power_cap = 0x4;
constexpr unsigned long long reason_hw_slowdown = 0x8;
constexpr unsigned long long reason_sync_boost = 0x10;
constexpr unsigned long long reason_sw_thermal = 0x20;
constexpr unsigned long long reason_hw_thermal = 0x40;
constexpr unsigned long long reason_hw_power_brake = 0x80;
constexpr unsigned long long reason_display_clock = 0x100;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
static_assert(sizeof(Utilization) == 8);

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  int value_type;
  Return code;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_unsigned_long_long;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct Attributes {
  unsigned multiprocessors, copy_engines, decoders, encoders, jpeg_engines, optical_flow_engines;
  unsigned gpu_instance_slices, compute_instance_slices;
  unsigned long long memory_mib;
};
static_assert(sizeof(Attributes) == 40);

// nvmlGpuFabricInfo_v3_t, and v2, which ends before health_summary. `version` is the size with the number in the
// highest byte; the library writes as much as that says.
struct FabricInfo {
  unsigned version;
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique_id;
  unsigned char state;
  unsigned health_mask;
  unsigned char health_summary;
};
static_assert(sizeof(FabricInfo) == 40 && offsetof(FabricInfo, health_summary) == 36);
constexpr unsigned fabric_info_v3 = 40U | 3U << 24;
constexpr unsigned fabric_info_v2 = 36U | 2U << 24;

// Two bits each of the health mask; 0: not reported, 1: true, 2: false.
constexpr unsigned fabric_degraded_bandwidth_shift = 0;
constexpr unsigned fabric_route_unhealthy_shift = 4;

}  // namespace claimcheck::kernels::cuda::nvml

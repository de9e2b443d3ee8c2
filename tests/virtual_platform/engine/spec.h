// Description of a virtual machine, read from JSON (../specs). Members have the names and units of the JSON keys.
// Rates are those a program attains, not data sheet values; memory and L2 are small, so that tests are quick.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace virtual_platform {

// By data type or vector operation, in the product's words: "fp64", "bf16", "fp8_e4m3", "dp4a". Missing: cannot do it.
using RatesByType = std::map<std::string, double>;

struct Gpu {
  std::string name;        // as CUDA tells it; ends in " (virtual)"
  std::string uuid;        // "GPU-..." or, of a MIG instance, "MIG-..."; made from the index when not given
  std::string pci_bus_id;  // "0000:10:00.0"; likewise
  int sms = 0;
  int compute_capability = 0;  // 10 x major + minor
  double memory_mib = 0;
  double memory_used_mib = 0;  // by other programs
  double l2_kib = 0;
  int sm_clock_mhz = 0;  // under load
  int sm_clock_max_mhz = 0;
  int memory_clock_mhz = 0;  // NVML's: half the data rate
  int memory_bus_bits = 0;
  int copy_engines = 3;
  int numa_node = 0;
  int cores_per_sm = 128;  // fp32 units, for NVML's core count

  double memory_gbps = 0;        // attained by a kernel
  double memory_latency_ns = 0;  // of one dependent load
  double l2_gbps = 0;
  double l2_latency_ns = 0;
  RatesByType gemm_tflops;    // attained by cuBLASLt
  RatesByType vector_tflops;  // attained by FMA chains; int32 and dp4a in 1e12 operations a second
  RatesByType tensor_tflops;  // attained by mma on registers
  double slowdown = 1;        // every duration of this GPU is this many times longer
  double jitter = 0;          // and each by up to this share longer or shorter, the same in every run

  // What NVML says; the sensors of `lying_sensors` say this value instead.
  double power_watts = 0;  // under load
  double power_limit_watts = 0;
  double power_limit_default_watts = 0;
  double power_limit_min_watts = 0;
  double power_limit_max_watts = 0;
  double temperature_celsius = 45;
  double memory_temperature_celsius = 0;      // 0: not supported
  std::vector<std::string> throttle_reasons;  // "gpu_idle", "sw_power_cap", "hw_slowdown", ...
  std::string ecc = "enabled";                // "enabled", "disabled", "unsupported"
  std::int64_t ecc_corrected = 0;             // volatile
  std::int64_t ecc_uncorrected = 0;
  std::int64_t ecc_uncorrected_lifetime = 0;
  int application_clock_mhz = 0;          // 0: not supported, as of vGPUs and newer drivers
  int application_clock_default_mhz = 0;  // likewise
  int other_processes = 0;                // compute processes that are not this one
  int remapped_rows_corrected = 0;
  int remapped_rows_uncorrected = 0;
  bool remapping_pending = false;
  bool remapping_failed = false;
  std::string persistence = "enabled";  // "enabled", "disabled"
  std::string virtualization = "none";  // "none", "passthrough", "vgpu"
  int pcie_generation_max = 4;
  int pcie_generation = 4;
  int pcie_width_max = 16;
  int pcie_width = 16;
  int nvlinks = 0;  // active links
  int nvlink_version = 0;
  int nvlinks_inactive = 0;            // links that are down
  std::string fabric = "unsupported";  // "unsupported", "completed", "in_progress", "not_started"
  std::string mig = "unsupported";     // "unsupported", "disabled", "instance": this is a MIG instance
  // Of the whole GPU a MIG instance is part of.
  std::string mig_parent_uuid;
  std::string mig_parent_name;
  double mig_parent_memory_mib = 0;
  int mig_parent_sms = 0;
  std::string mig_profile;  // "1g.10gb"
  int mig_gpu_instance = 0;
  std::map<std::string, double> lying_sensors;  // "power_watts", "sm_clock_mhz", "temperature_celsius"
};

// Between GPUs.
struct Links {
  double gbps = 0;                          // of every pair, one way; 0: no peer access
  double bidirectional_gbps = 0;            // both directions of a pair added, both at work; 0: twice the one-way rate
  double latency_ns = 0;                    // of one dependent load from a peer's memory
  std::vector<std::vector<double>> matrix;  // [reader][owner], one way, in GB/s, instead of `gbps`
};

// Between host and GPU, of pinned memory unless said.
struct Pcie {
  double h2d_gbps = 0;
  double d2h_gbps = 0;
  double bidirectional_gbps = 0;  // sum of both directions when both are at work; 0: the two added
  double kernel_gbps = 0;         // of a kernel that reads or writes host memory; 0: as the copy engine
  double pageable_gbps = 0;
  double latency_us = 1.2;                // of one copy
  std::vector<std::vector<int>> uplinks;  // groups of GPUs that share one link to the host
  double uplink_gbps = 0;                 // of such a link, each way; 0: as one GPU's
};

struct Times {
  double api_us = 0.1;             // what an ordinary call costs the host
  double launch_latency_us = 2.5;  // from the call to the start of a kernel, on an idle stream
  double kernel_floor_us = 1.6;    // an empty kernel
  double gap_us = 0;               // between two operations of a stream; real ones have about 0.7
};

// time = alpha + steps x step + bus bytes / bus rate, after the last rank has arrived.
struct Collectives {
  double alpha_us = 10;
  double step_us = 0.8;
  std::map<std::string, double> bus_gbps;  // by kernels::Collective's words: "all_reduce", ...
  std::string algorithm = "ring";          // "ring", "nvls", "tree"
  std::string protocol = "Simple";
  std::string transport = "P2P/CUMEM";  // as NCCL's log says it: "SHM/direct/direct", "NET/Socket/0", "NET/OFI/0"
  int channels = 8;
};

// Between nodes. Rates are those a program attains.
struct Network {
  std::string kind = "socket";  // "efa", "ib", "socket": what NCCL takes
  int nics = 1;                 // of a node
  double nic_gbps = 0;          // of one, one way; GB/s as all rates here
  double latency_us = 15;       // of one step of a collective, on top of its own
  bool gpu_direct = true;       // data does not pass the host's memory; never with sockets
};

struct Nodes {
  int count = 1;
  Network network;
};

// An operation goes wrong. Operations are counted from 1, of those this fault looks at.
struct OperationFault {
  // "flipped_bit", "hang", "lost", "ecc", "error", "killed" (the process, by SIGKILL), "slow" (it takes `times` as
  // long); of "nccl": "async_error"
  std::string kind;
  std::string operation;  // "copy", "kernel", "gemm", "collective" (on the GPU), "nccl" (a call that enqueues one)
  std::string name;       // only those whose name has this in it: of a kernel, a NCCL call; empty: all
  int gpu = -1;           // index in Spec::gpus; -1: counted over all of a process
  int node = -1;          // -1: on every node
  std::int64_t at = 1;
  bool and_later = false;    // that one and all after it
  bool stays = false;        // of "lost" and "ecc": in processes that start later as well, see gone_file()
  double times = 2;          // of "slow"
  double after_seconds = 0;  // by the host's clock since the process' first operation; those before do not count
  bool everywhere = false;   // a flipped bit in every 8 bytes written; else one in the middle
};

struct Faults {
  std::string start_up;  // "", "no_driver", "old_driver" (for this toolkit), "no_device", "802", "803", "804"
  // "", "missing", "old" (without newer functions; both are other library files, chosen by LD_LIBRARY_PATH, see
  // nvml/), "mismatch" (nvmlInit fails as after a driver update without a reboot)
  std::string nvml;
  std::vector<std::string> nvml_not_supported;  // functions that answer "not supported"
  std::vector<OperationFault> operations;
};

struct Spec {
  std::string note;
  std::string source;
  std::string driver_version;   // "virtual-580.95.05"
  int cuda_driver_version = 0;  // 13000
  std::vector<Gpu> gpus;        // all of the machine; what CUDA shows of them: visible_gpus()
  Links links;
  Pcie pcie;
  Times times;
  Collectives collectives;
  Nodes nodes;
  Faults faults;

  // One way, in GB/s, when GPU `from` reads the memory of GPU `owner`; 0: no peer access.
  double link_gbps(int from, int owner) const;
};

// Throws std::runtime_error: file, JSON pointer, what was expected, and of an unknown key the nearest known one.
// What "nodes" says of one node under "own" is merged in for that one.
Spec read_spec(const std::string& path, int node = 0);
Spec parse_spec(const std::string& text, const std::string& directory, int node = 0);  // `directory`: of "extends"

// That of CLAIMCHECK_VIRTUAL_SPEC, read once; ends the process with a sentence when it cannot be read.
const Spec& spec();

// Which of Nodes::count this process is on: CLAIMCHECK_NODE, 0 when not set or where the machine has one node only.
int this_node();

// Indices in Spec::gpus of what a CUDA process sees. `chosen` is CUDA_VISIBLE_DEVICES, null when not set: indices,
// UUIDs or beginnings of UUIDs; the list ends at the first that names no GPU. Of MIG instances a process sees one.
std::vector<int> visible_gpus(const Spec& machine, const char* chosen);

// Beside the spec: there, with the cudaError_t in it, once a fault that stays took this GPU (index in Spec::gpus).
std::string gone_file(int gpu);

// The fault that hits the next operation of this kind, if any; counts it. Thread-safe.
const OperationFault* next_fault(std::string_view operation, std::string_view name, int gpu);

}  // namespace virtual_platform

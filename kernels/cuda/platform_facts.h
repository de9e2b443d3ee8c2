// What --describe says of the machine: versions of the libraries, links between GPUs, and the network adapters near
// them.
#pragma once

#include <span>

#include "kernels/cuda/device.h"

namespace claimcheck::kernels::cuda {

// What cannot be had is unknown: these never throw.
Facts version_facts(const Nvml* nvml);
Fact nccl_version();

// CPUs of a NUMA node, all or those this process may use; unknown for node -1.
Fact near_cpus(int numa_node, bool only_usable);
std::vector<int> cpus_of_list(const std::string& list);  // "0-2,8" is 0 1 2 8

// For each GPU, by its index: gpu0_peer_access_to and gpu0_nvlinks_to, one number for each GPU; gpu0_path_to, the words
// of nvidia-smi topo, "X PIX SYS"; gpu0_nearest_nics "mlx5_0,mlx5_1" and gpu0_nearest_nics_path "PIX".
Facts link_facts(std::span<const Gpu* const> gpus);

std::string pci_bus_id(int ordinal);              // "0000:17:00.0"; throws
bool can_access(const Gpu& from, const Gpu& to);  // throws

// Pairs of GPUs in NVLinks, from where each GPU's links end (NvmlDevice::nvlink_ends()). A switch joins all that are
// plugged into it, with as many links as the lesser of the two has there.
int nvlinks_between(const std::vector<std::string>& ends, const std::string& bus_id,
                    const std::vector<std::string>& other_ends, const std::string& other_bus_id);

}  // namespace claimcheck::kernels::cuda

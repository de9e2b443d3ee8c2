// The ports of a node's RDMA adapters, from /sys/class/infiniband.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace claimcheck::bench {

struct RdmaPort {
  std::string device;  // "mlx5_0", "rdmap16s27"
  int port = 1;
  std::string fabric;      // "infiniband", "roce", "efa"
  double line_gbit_s = 0;  // 0: unknown
  bool operator==(const RdmaPort&) const = default;
};

// Active ones, by device and port. `root`: CLAIMCHECK_SYSTEM_ROOT or /. What cannot be read is not there.
std::vector<RdmaPort> rdma_ports(const std::filesystem::path& root);
std::filesystem::path system_root();

}  // namespace claimcheck::bench

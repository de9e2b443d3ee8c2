// A directory that checkpoints go to: what is behind it, and whether a disk can be measured there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/device.h"

namespace claimcheck::bench {

struct Mount {
  std::string type;    // "ext4", "xfs", "nfs4", "lustre", "overlay", ...; empty: unknown
  std::string source;  // "/dev/nvme0n1p1"; empty where it is no device of this machine (a server's name stays private)
};

// The mount that holds `path` (absolute, without links), from the text of /proc/self/mountinfo.
Mount mount_of(std::string_view mountinfo, const std::string& path);

struct CheckpointPlace {
  std::string directory;
  std::string option;  // by which the user chooses it, for remedies: "--scratch", "--checkpoint-dir"
  Mount mount = {};
  // Whether the kernel counts what is read there as read from a device: file systems on a device of this machine.
  bool counts_reads = false;
  std::size_t free_bytes = 0;
};

// Throws unsupported where it is in memory, failed where it is not there or cannot be written to; one sentence each.
CheckpointPlace look_at(const std::string& directory, const std::string& option);

}  // namespace claimcheck::bench

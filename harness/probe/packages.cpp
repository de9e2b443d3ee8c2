// Versions of installed Debian packages that matter to a GPU machine, from dpkg's own table.
#include <array>

#include "harness/probe/inventory.h"

namespace claimcheck::probe {
namespace {

struct Package {
  std::string_view package;  // ends in '*': all that begin so
  const char* name;
};

constexpr std::array<Package, 35> packages{{{"nvidia-driver-*", "driver"},
                                            {"cuda-drivers", "driver"},
                                            {"cuda-toolkit-*", "cuda"},
                                            {"libcudnn8", "cudnn"},
                                            {"libcudnn9", "cudnn"},
                                            {"libcudnn9-cuda-*", "cudnn"},
                                            {"libnccl2", "nccl"},
                                            {"libnccl-ofi*", "aws_ofi_nccl"},
                                            {"libfabric1", "libfabric"},
                                            {"libfabric-aws", "libfabric"},
                                            {"rdma-core", "rdma_core"},
                                            {"mlnx-ofed-kernel-utils", "mofed"},
                                            {"mlnx-ofed-kernel-dkms", "mofed"},
                                            {"doca-ofed", "mofed"},
                                            {"docker-ce", "docker"},
                                            {"docker.io", "docker"},
                                            {"moby-engine", "docker"},
                                            {"containerd.io", "containerd"},
                                            {"containerd", "containerd"},
                                            {"podman", "podman"},
                                            {"enroot", "enroot"},
                                            {"nvidia-container-toolkit", "nvidia_container_toolkit"},
                                            {"slurmd", "slurm"},
                                            {"slurm-smd-slurmd", "slurm"},
                                            {"kubelet", "kubernetes"},
                                            {"nvidia-fabricmanager*", "fabric_manager"},
                                            {"datacenter-gpu-manager", "dcgm"},
                                            {"datacenter-gpu-manager-4-core", "dcgm"},
                                            {"nvidia-imex*", "imex"},
                                            {"lustre-client-utils", "lustre"},
                                            {"lustre-client-modules-*", "lustre"},
                                            {"openmpi-bin", "openmpi"},
                                            {"fio", "fio"},
                                            {"rocm-core", "rocm"},
                                            {"libopenblas0-pthread", "openblas"}}};

const char* name_of(std::string_view package) {
  for (const Package& known : packages) {
    const bool many = known.package.ends_with('*');
    const std::string_view start = known.package.substr(0, known.package.size() - (many ? 1 : 0));
    if (many ? package.starts_with(start) : package == start) return known.name;
  }
  return nullptr;
}

}  // namespace

std::vector<Installed> installed_packages(const Tree& tree) {
  std::vector<Installed> found;
  const std::string status = tree.text("var/lib/dpkg/status", 32 << 20).value_or("");
  std::string_view package;
  bool here = false;
  for (const std::string_view line : lines_of(status)) {
    if (line.starts_with("Package: ")) {
      package = line.substr(9);
      here = false;
    } else if (line.starts_with("Status: ")) {
      here = line.find(" installed") != std::string_view::npos;
    } else if (here && line.starts_with("Version: ")) {
      const char* name = name_of(package);
      if (name != nullptr) found.push_back({name, std::string(line.substr(9)), "package " + std::string(package)});
    }
  }
  return found;
}

}  // namespace claimcheck::probe

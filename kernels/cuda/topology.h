// Where GPUs and network adapters sit in the machine, from hwloc. Paths have the names nvidia-smi topo gives them:
//   PIX one PCIe switch, PXB several switches, PHB one host bridge (CPU root), NODE one NUMA node, SYS several
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace claimcheck::kernels::cuda {

struct NearNic {
  std::string name;  // "mlx5_0", "rdmap16s27", "eth0"
  std::string path;
};

class Topology {
 public:
  // Of this machine, or of an hwloc XML text. Never throws: what cannot be read is not known.
  explicit Topology(const std::string& xml = {});
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  // Between two PCI devices by bus id ("0000:17:00.0"); empty when hwloc does not know one of them.
  std::string path(const std::string& bus_id, const std::string& other_bus_id) const;

  // The adapters with the shortest path to a device, by name. RDMA names are preferred to those of Ethernet interfaces.
  std::vector<NearNic> nearest_nics(const std::string& bus_id) const;

 private:
  struct Loaded;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace claimcheck::kernels::cuda

#include "harness/judge/transport_advice.h"

#include <fmt/format.h>

#include "harness/judge/machine.h"

namespace claimcheck {
namespace {

using nlohmann::json;

std::string variable(const Document& document, const char* name) {
  return text_at(document.system.value("environment", json::object()), name);
}

int adapters(const Document& document, std::string_view kind) {
  int count = 0;
  for (const json& nic : document.system.value("nics", json::array()))
    if (text_at(nic, "kind") == kind) ++count;
  return count;
}

// Settings that switch the network off by themselves.
void settings(const Document& document, Network promised, std::vector<std::string>& found) {
  const auto set = [&](const char* name, const char* value) {
    if (variable(document, name) != value) return;
    found.push_back(fmt::format("{}={} is set, which switches it off. -> Unset {} and run again.", name, value, name));
  };
  set("NCCL_NET", "Socket");
  if (promised == Network::efa) {
    set("FI_PROVIDER", "tcp");
    set("FI_PROVIDER", "sockets");
  } else if (promised != Network::tcpx) {
    set("NCCL_IB_DISABLE", "1");
  }
}

void efa(const Document& document, const Transport& transport, Way way, std::vector<std::string>& found) {
  if (way == Way::libfabric_tcp) {
    found.emplace_back(
        "The plug-in was loaded, but libfabric gave it the provider tcp: it found no EFA device, or may not use it. -> "
        "`fi_info -p efa` on every node: without output, attach EFA interfaces (InterfaceType=efa) and let the "
        "security "
        "group admit all traffic from itself, in and out; then FI_PROVIDER=efa.");
    return;
  }
  const bool probed = document.system.contains("nics");
  if (probed && adapters(document, "efa") == 0)
    found.emplace_back(
        "No EFA device is visible here. -> Attach EFA interfaces at launch; in a container pass /dev/infiniband on "
        "(Kubernetes: the EFA device plug-in and limits vpc.amazonaws.com/efa).");
  if (transport.plugin.empty())
    found.emplace_back(
        "NCCL loaded no plug-in for EFA (aws-ofi-nccl), and it knows EFA only by that. -> Install aws-ofi-nccl, put "
        "its "
        "lib folder on LD_LIBRARY_PATH of every process; NCCL_DEBUG=INFO then says 'Selected provider is efa'.");
  else
    found.push_back(
        fmt::format("The plug-in {} was loaded and then not used. -> `fi_info -p efa` on every node, a security group "
                    "that admits all traffic from itself, and NCCL_DEBUG=INFO for its reason.",
                    transport.plugin));
}

void verbs(const Document& document, bool infiniband, std::vector<std::string>& found) {
  const char* kind = infiniband ? "infiniband" : "roce";
  if (document.system.contains("nics") && adapters(document, kind) == 0)
    found.push_back(
        fmt::format("No {} adapter is visible here. -> `ibv_devinfo`; in a container pass /dev/infiniband on "
                    "(Kubernetes: the RDMA device plug-in), and allow it to lock memory (ulimit -l unlimited).",
                    infiniband ? "InfiniBand" : "RoCE"));
  found.emplace_back(
      infiniband ? "NCCL could not open the adapters, or their ports are not active. -> `ibstat` must say Active and "
                   "LinkUp; NCCL_IB_HCA names the adapters; NCCL_DEBUG=INFO says why NET/IB was left out."
                 : "NCCL could not open the adapters, or their address is of the wrong kind. -> `ibv_devinfo` and "
                   "`show_gids`; NCCL_IB_HCA and NCCL_IB_GID_INDEX as the provider's guide has them.");
}

}  // namespace

Network network_of(std::string_view kind) {
  if (kind == "EFA") return Network::efa;
  if (kind.starts_with("InfiniBand")) return Network::infiniband;
  if (kind.starts_with("RoCE")) return Network::roce;
  return kind.starts_with("GPUDirect-TCPX") ? Network::tcpx : Network::none;
}

bool promises_gpu_direct(const Platform& platform) {
  const std::string kind = text_at(platform.record, "network_kind");
  const Network network = network_of(kind);
  if (network == Network::none || network == Network::tcpx) return false;  // TCPX has a way of its own
  return kind.find("GPUDirect") != std::string::npos ||
         text_at(platform.record, "intra_node").find("NVSwitch") != std::string::npos;
}

bool only_adapters(const Document& document, std::string_view kind) {
  const int all = adapters(document, "efa") + adapters(document, "infiniband") + adapters(document, "roce");
  return all > 0 && adapters(document, kind) == all;
}

std::vector<std::string> network_advice(const Document& document, const Transport& transport, Way way,
                                        Network promised) {
  std::vector<std::string> found;
  settings(document, promised, found);
  if (promised == Network::efa) efa(document, transport, way, found);
  if (promised == Network::infiniband && way == Way::verbs)
    found.emplace_back(
        "All adapters here speak Ethernet: RoCE in place of InfiniBand. -> Compare with the instance type ordered; "
        "behind it congestion control is the provider's, so ask for it.");
  else if (promised == Network::infiniband || promised == Network::roce)
    verbs(document, promised == Network::infiniband, found);
  if (promised == Network::tcpx)
    found.emplace_back(
        "NCCL did not load Google's plug-in for GPUDirect-TCPX or -TCPXO. -> Install it and its receive daemon as the "
        "guide of the machine type says (on GKE the installer DaemonSet), and put its lib folder on LD_LIBRARY_PATH.");
  return found;
}

std::string gpu_direct_advice(Network network) {
  if (network == Network::efa)
    return "FI_EFA_USE_DEVICE_RDMA=1 on the first EFA (p4d), a current EFA installer and NVIDIA driver; "
           "NCCL_NET_GDR_LEVEL must not be LOC.";
  return "`lsmod | grep nvidia_peermem` (load it, or use a kernel with DMA-BUF); NCCL_NET_GDR_LEVEL must not be LOC; "
         "ACS off in the PCIe switches.";
}

std::string inside_advice(const Document& document) {
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}) {
    const std::string value = variable(document, name);
    if (value == "1" || value == "LOC" || value == "0")
      return fmt::format("{}={} is set, which keeps GPUs from each other's memory. -> Unset {} and run again.", name,
                         value, name);
  }
  return "The GPUs do not reach each other's memory. -> `nvidia-smi nvlink -s` and `nvidia-smi topo -p2p r` show "
         "which; "
         "nvidia-fabricmanager must run and match the driver; containers need all GPUs of the node and --ipc=host.";
}

}  // namespace claimcheck

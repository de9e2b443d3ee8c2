// What a collective library says it used, from the evidence of measurements (evidence.group). Pure.
// The words are NCCL's own, as kernels/cuda/nccl_log.h hands them on and as importers read them from other logs:
//   transport  of the channels, most used first: "NVLS,P2P/CUMEM", "P2P/IPC,NET/AWS Libfabric/GDRDMA", "SHM/direct"
//   network, network_provider, net_plugin, gpu_direct_rdma, nvls, algorithm
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/result/document.h"

namespace claimcheck {

// How the nodes reached each other, the worst first.
enum class Way {
  sockets,        // NCCL's own TCP
  libfabric_tcp,  // the plug-in for EFA, over libfabric's TCP
  libfabric,      // the same plug-in; the provider is not known
  efa,
  verbs,  // InfiniBand or RoCE: NCCL calls both IB
  tcpx,   // Google's GPUDirect-TCPX and -TCPXO
  nvlink,
  other,
  unknown
};

// For sentences: "TCP sockets", "EFA", "InfiniBand or RoCE".
std::string_view to_string(Way way);

struct Transport {
  int nodes = 1;
  std::vector<std::string> parts;  // of `transport`
  std::string network;
  std::string provider;
  std::string plugin;
  std::string algorithm;  // lower case
  std::optional<bool> gpu_direct;
  std::optional<bool> nvls;
};

// Unset where the evidence has no group, or the CPU worked.
std::optional<Transport> transport_of(const Document& document, const Measurement& measurement);

// unknown for one node.
Way way_between(const Transport& transport);

bool uses_host_memory(const Transport& transport);  // SHM, or P2P by way of a third
bool uses_peer_access(const Transport& transport);  // P2P or NVLS

}  // namespace claimcheck

// What kind of network the catalog promises, and what to say when NCCL did not use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/evidence/transport.h"
#include "harness/result/document.h"

namespace claimcheck {

enum class Network { none, efa, infiniband, roce, tcpx };

// Of the catalog's network_kind; none for everything that is not RDMA ("VPC", "ENA (TCP)", "none (no r: ...)").
Network network_of(std::string_view kind);

// The row names GPUDirect, or it is a machine with NVSwitch on an RDMA network: those are sold for training over many
// nodes, and their providers' set-up guides switch it on.
bool promises_gpu_direct(const Platform& platform);

// Every adapter for RDMA that the probe saw is of this kind, and there is one.
bool only_adapters(const Document& document, std::string_view kind);

// Sentences "WHY -> WHAT NEXT", what the evidence supports first.
std::vector<std::string> network_advice(const Document& document, const Transport& transport, Way way,
                                        Network promised);
std::string gpu_direct_advice(Network network);
std::string inside_advice(const Document& document);

}  // namespace claimcheck

// What NCCL used, read from its own debug output (NCCL_DEBUG=INFO): it has no function that tells. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// facts() of one communicator; what the text does not say is unknown:
//   algorithm, protocol  of the largest collective seen: "ring", "tree", "nvls", "nvls_tree", "collnet_direct", ...;
//                        "simple", "ll", "ll128"
//   algorithm_bytes      the size of that collective
//   transport            of the channels, most used first: "P2P/CUMEM", "SHM/direct/direct", "NET/IB/0/GDRDMA" without
//                        the adapter's number, joined by commas
//   network              what NCCL chose for other machines: "IB", "Socket", "AWS Libfabric"; also on one machine
//   network_provider     libfabric's provider: "efa"; "tcp;ofi_rxm" means that EFA is not used
//   net_plugin           the plugin's own name or file when one was loaded
//   nvls                 whether NVLink SHARP is at hand
//   channels             for collectives
//   gpu_direct_rdma      whether a network channel uses it; unknown without network channels
class NcclLog {
 public:
  // The next piece of the text, in pieces of any length.
  void read(std::string_view text);
  Facts facts() const;

 private:
  void line(std::string_view text);
  void channel(std::string_view text);
  void tuning(std::string_view text);
  void network(std::string_view text);
  void support(std::string_view text);
  void channels(std::string_view text);
  std::string transports() const;

  std::string rest_;  // of a line whose end is still to come
  std::map<std::string, int> uses_;
  std::string algorithm_;
  std::string protocol_;
  std::int64_t bytes_ = 0;
  std::string network_;
  std::string provider_;
  std::string plugin_;
  std::optional<bool> nvls_;
  std::optional<std::int64_t> channels_;
  int net_channels_ = 0;
  int direct_channels_ = 0;
};

}  // namespace claimcheck::kernels::cuda

// What NCCL used, from lines as its versions write them.
#include "kernels/cuda/nccl_log.h"

#include <gtest/gtest.h>

#include <map>

namespace claimcheck::kernels::cuda {
namespace {

std::map<std::string, Fact> facts_of(const std::string& text) {
  NcclLog log;
  log.read(text);
  std::map<std::string, Fact> facts;
  for (const auto& [name, fact] : log.facts()) facts[name] = fact;
  return facts;
}

std::string text(const std::map<std::string, Fact>& facts, const std::string& name) {
  const auto at = facts.find(name);
  if (at == facts.end() || !std::holds_alternative<std::string>(at->second)) return "(unknown)";
  return std::get<std::string>(at->second);
}

TEST(NcclLog, NothingSaidIsUnknown) {
  for (const std::string& log : {std::string(), std::string("noise\nNCCL INFO Bootstrap: Using eth0\n")}) {
    const auto facts = facts_of(log);
    for (const char* name : {"algorithm", "protocol", "algorithm_bytes", "transport", "network", "nvls", "channels"})
      EXPECT_TRUE(std::holds_alternative<std::monostate>(facts.at(name))) << name;
    EXPECT_EQ(facts.count("gpu_direct_rdma"), 0U);
  }
}

TEST(NcclLog, OneMachineWithNvls) {
  const auto facts = facts_of(
      "node:10:21 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)\n"
      "node:10:21 [0] NCCL INFO Using network Socket\n"
      "node:10:21 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "node:10:22 [1] NCCL INFO Channel 01/0 : 1[1] -> 0[0] via P2P/CUMEM\n"
      "node:10:21 [0] NCCL INFO Connected NVLS tree\n"
      "node:10:21 [0] NCCL INFO 24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p "
      "channels per peer\n"
      "node:10:10 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n"
      "node:10:10 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}\n"
      "node:10:10 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n");
  EXPECT_EQ(text(facts, "algorithm"), "nvls");
  EXPECT_EQ(text(facts, "protocol"), "simple");
  EXPECT_EQ(std::get<std::int64_t>(facts.at("algorithm_bytes")), 1073741824);
  EXPECT_EQ(text(facts, "transport"), "NVLS,P2P/CUMEM");
  EXPECT_EQ(text(facts, "network"), "Socket");
  EXPECT_EQ(std::get<bool>(facts.at("nvls")), true);
  EXPECT_EQ(std::get<std::int64_t>(facts.at("channels")), 24);
}

TEST(NcclLog, HostMemoryWherePeersCannotReachEachOther) {
  const auto facts = facts_of(
      "a:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "a:1:2 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "a:1:2 [0] NCCL INFO Channel 00 : 1[1] -> 2[2] via P2P/direct pointer\n"
      "a:1:2 [0] NCCL INFO 33554432 Bytes -> Algo 1 proto 2 time 512.5\n");
  EXPECT_EQ(text(facts, "transport"), "SHM/direct/direct,P2P/direct pointer");
  EXPECT_EQ(text(facts, "algorithm"), "ring");
  EXPECT_EQ(text(facts, "protocol"), "simple");
}

TEST(NcclLog, NetworksAreNamedWithoutTheirAdapters) {
  const auto facts = facts_of(
      "n0:7:9 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 4 nics)\n"
      "n0:7:9 [0] NCCL INFO NET/Plugin: Loaded net plugin AWS Libfabric (v8)\n"
      "n0:7:9 [0] NCCL INFO Using network AWS Libfabric\n"
      "n0:7:9 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA\n"
      "n0:7:9 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/3(5)/GDRDMA\n"
      "n0:7:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/3/GDRDMA comm 0x55 nRanks 16\n");
  EXPECT_EQ(text(facts, "transport"), "NET/AWS Libfabric/GDRDMA");
  EXPECT_EQ(text(facts, "network"), "AWS Libfabric");
  EXPECT_EQ(text(facts, "net_plugin"), "AWS Libfabric");
  EXPECT_EQ(text(facts, "network_provider"), "efa");
  EXPECT_EQ(std::get<bool>(facts.at("gpu_direct_rdma")), true);
}

TEST(NcclLog, PluginOverTcpIsSeen) {
  const auto facts = facts_of(
      "h:1:2 [0] NCCL INFO NET/OFI Selected Provider is tcp;ofi_rxm\n"
      "h:1:2 [0] NCCL INFO Channel 00 : 1[0] -> 0[0] [receive] via NET/AWS Libfabric/0\n");
  EXPECT_EQ(text(facts, "network_provider"), "tcp;ofi_rxm");
  EXPECT_EQ(std::get<bool>(facts.at("gpu_direct_rdma")), false);
}

TEST(NcclLog, PiecesOfAnyLengthGiveTheSame) {
  const std::string whole =
      "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"
      "a:1:2 [0] NCCL INFO AllGather: 65536 Bytes -> Algo Ring proto LL128 channel{Lo..Hi}={0..3}\n";
  for (std::size_t piece = 1; piece < whole.size(); piece += 7) {
    NcclLog log;
    for (std::size_t at = 0; at < whole.size(); at += piece) log.read(std::string_view(whole).substr(at, piece));
    EXPECT_EQ(log.facts(), [&] {
      NcclLog once;
      once.read(whole);
      return once.facts();
    }()) << piece;
  }
  const auto facts = facts_of(whole);
  EXPECT_EQ(text(facts, "protocol"), "ll128");
  EXPECT_EQ(text(facts, "transport"), "P2P/IPC");
}

}  // namespace
}  // namespace claimcheck::kernels::cuda

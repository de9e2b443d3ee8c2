// What NCCL says it used, against what the platform promises.
#include "harness/evidence/transport.h"

#include "harness/judge/transport_advice.h"
#include "harness/judge/transport_verdict.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;
using nlohmann::json;
using testing::SizeIs;

Catalog selling(const std::string& network, const std::string& inside = "NVSwitch/NVLink4") {
  Catalog catalog = made::catalog();
  catalog.accelerators[0].interconnect_gbps = 900;
  catalog.accelerators[0].record["interconnect"] = "NVLink4";
  catalog.accelerators[0].record["pcie_gen"] = 5;
  catalog.platforms[0].network_gbps = 3200;
  catalog.platforms[0].record = {{"network_kind", network}, {"network_nics", 32}, {"intra_node", inside}};
  return catalog;
}

Measurement allreduce(int nodes, const json& group, double value = 3.9) {
  Measurement measurement = measured("allreduce/bytes:1073741824", "allreduce.busbw.gbps", "GB/s", six(value));
  measurement.conditions["ranks"] = 8 * nodes;
  if (nodes > 1) measurement.conditions["nodes"] = nodes;
  measurement.evidence["group"] = group;
  return measurement;
}

Document with_group(int nodes, const json& group, double value = 3.9) {
  Document document = made::gpu_node();
  document.measurements = {allreduce(nodes, group, value)};
  return document;
}

Way way_of(const json& group, int nodes = 2) {
  const Document document = with_group(nodes, group);
  return way_between(transport_of(document, document.measurements[0]).value());
}

TEST(way_between, reads_the_words_of_nccl) {
  EXPECT_EQ(way_of({{"transport", "P2P/CUMEM,NET/Socket"}}), Way::sockets);
  EXPECT_EQ(way_of({{"transport", "P2P/IPC,NET/IB/GDRDMA"}}), Way::verbs);
  EXPECT_EQ(way_of({{"transport", "NET/IB/GDRDMA,NET/Socket"}}), Way::sockets) << "the worst counts";
  EXPECT_EQ(way_of({{"transport", "NET/AWS Libfabric/GDRDMA"}, {"network_provider", "efa"}}), Way::efa);
  EXPECT_EQ(way_of({{"transport", "NET/AWS Libfabric"}, {"network_provider", "tcp;ofi_rxm"}}), Way::libfabric_tcp);
  EXPECT_EQ(way_of({{"transport", "NET/Libfabric"}}), Way::libfabric);
  EXPECT_EQ(way_of({{"transport", "NET/Libfabric/GDRDMA"}}), Way::efa) << "libfabric's tcp cannot do that";
  EXPECT_EQ(way_of({{"transport", "NET/FasTrak"}}), Way::tcpx);
  EXPECT_EQ(way_of({{"transport", "NVLS,P2P/MNNVL"}}), Way::nvlink);
  EXPECT_EQ(way_of({{"transport", nullptr}, {"network", "Socket"}}), Way::sockets);
  EXPECT_EQ(way_of({{"transport", nullptr}, {"network", nullptr}}), Way::unknown);
  EXPECT_EQ(way_of({{"transport", "P2P/CUMEM"}, {"network", "Socket"}}, 1), Way::unknown) << "one node has no between";
}

TEST(transport_of, a_cpu_has_none) {
  Document document = with({on_cpu(measured("allreduce", "allreduce.busbw.gbps", "GB/s", six(3)))});
  document.measurements[0].evidence["group"]["transport"] = "MPI";
  EXPECT_FALSE(transport_of(document, document.measurements[0]).has_value());
}

TEST(network_of, names_of_the_catalog) {
  EXPECT_EQ(network_of("EFA"), Network::efa);
  EXPECT_EQ(network_of("InfiniBand (r in the name)"), Network::infiniband);
  EXPECT_EQ(network_of("RoCE (GPUDirect RDMA)"), Network::roce);
  EXPECT_EQ(network_of("GPUDirect-TCPXO"), Network::tcpx);
  for (const char* plain : {"", "ENA (TCP)", "VPC (no RDMA listed)", "none (no r: no InfiniBand)", "Ethernet"})
    EXPECT_EQ(network_of(plain), Network::none) << plain;
}

Verdict network_verdict(const Document& document, const Catalog& catalog) {
  const auto verdicts = all_verdicts(document, {}, catalog);
  const Verdict* verdict = find(verdicts, "platform:aws:p5.48xlarge:transport.network");
  return verdict == nullptr ? Verdict{} : *verdict;
}

TEST(transport_network, sockets_where_efa_was_promised) {
  Document document = with_group(2, {{"transport", "P2P/CUMEM,NET/Socket"}, {"network", "Socket"}});
  document.system["nics"] = json::array({{{"name", "ens5"}, {"kind", "ethernet"}}});
  const Verdict verdict = network_verdict(document, selling("EFA"));
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  EXPECT_EQ(verdict.attained, "TCP sockets");
  // Two nodes of any algorithm: f x 400 = 750 by the network, 450 x f by NVLink.
  EXPECT_EQ(verdict.reason,
            "NCCL between the nodes went over TCP sockets though aws:p5.48xlarge promises EFA; "
            "allreduce/bytes:1073741824 reached 3.90 GB/s, of at most 750 GB/s on the promised links (0.52 %)");
  ASSERT_THAT(verdict.diagnosis, SizeIs(2));
  EXPECT_THAT(verdict.diagnosis[0],
              AllOf(HasSubstr("No EFA device is visible here. -> "), HasSubstr("/dev/infiniband")));
  EXPECT_THAT(verdict.diagnosis[1], HasSubstr("NCCL loaded no plug-in for EFA (aws-ofi-nccl)"));
  document.system["environment"] = {{"NCCL_NET", "Socket"}};
  EXPECT_THAT(network_verdict(document, selling("EFA")).diagnosis[0], HasSubstr("NCCL_NET=Socket is set"));
}

TEST(transport_network, the_provider_tcp_is_not_efa) {
  const Document document =
      with_group(2, {{"transport", "NET/AWS Libfabric"}, {"network_provider", "tcp;ofi_rxm"}, {"net_plugin", "AWS"}});
  const Verdict verdict = network_verdict(document, selling("EFA"));
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  EXPECT_THAT(verdict.reason, HasSubstr("went over TCP by way of libfabric though aws:p5.48xlarge promises EFA"));
  ASSERT_THAT(verdict.diagnosis, SizeIs(1));
  EXPECT_THAT(verdict.diagnosis[0], AllOf(HasSubstr("provider tcp"), HasSubstr("security group")));
}

TEST(transport_network, as_promised) {
  const json efa = {
      {"transport", "NET/AWS Libfabric/GDRDMA"}, {"network", "AWS Libfabric"}, {"network_provider", "efa"}};
  EXPECT_EQ(network_verdict(with_group(2, efa), selling("EFA")).kind, VerdictKind::met);
  EXPECT_EQ(network_verdict(with_group(2, efa), selling("InfiniBand NDR")).kind, VerdictKind::not_met);
  const json verbs = {{"transport", "NET/IB/GDRDMA"}, {"network", "IB"}};
  EXPECT_EQ(network_verdict(with_group(2, verbs), selling("InfiniBand NDR")).kind, VerdictKind::met);
  EXPECT_EQ(network_verdict(with_group(2, verbs), selling("RoCE RDMA")).kind, VerdictKind::met);
  EXPECT_EQ(network_verdict(with_group(2, {{"transport", "NET/FasTrak"}}), selling("GPUDirect-TCPXO")).kind,
            VerdictKind::met);
  EXPECT_EQ(network_verdict(with_group(2, {{"transport", "NET/AWS Libfabric"}}), selling("EFA")).kind,
            VerdictKind::inconclusive);
}

TEST(transport_network, roce_is_not_infiniband) {
  Document document = with_group(2, {{"transport", "NET/IB/GDRDMA"}});
  document.system["nics"] =
      json::array({{{"name", "mlx5_0"}, {"kind", "roce"}}, {{"name", "eth0"}, {"kind", "ethernet"}}});
  const Verdict verdict = network_verdict(document, selling("InfiniBand NDR"));
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  EXPECT_THAT(verdict.diagnosis[0], HasSubstr("RoCE in place of InfiniBand"));
}

TEST(transport_network, what_was_not_seen_is_not_judged) {
  const Verdict one =
      network_verdict(with_group(1, {{"transport", "NVLS,P2P/CUMEM"}, {"network", "Socket"}}), selling("EFA"));
  EXPECT_EQ(one.kind, VerdictKind::not_measured);
  EXPECT_THAT(one.reason, HasSubstr("one node was measured"));
  EXPECT_EQ(network_verdict(made::gpu_node(), selling("EFA")).kind, VerdictKind::not_measured);
  const Verdict silent = network_verdict(with_group(2, {{"transport", nullptr}}), selling("EFA"));
  EXPECT_EQ(silent.kind, VerdictKind::not_measured);
  EXPECT_THAT(silent.reason, HasSubstr("NCCL_DEBUG=INFO"));
  EXPECT_TRUE(network_verdict(with_group(2, {{"transport", "NET/Socket"}}), selling("ENA (TCP)")).claim.id.empty())
      << "who promises no more gets no claim";
}

Verdict inside_verdict(const Document& document, const Catalog& catalog) {
  const auto verdicts = all_verdicts(document, {}, catalog);
  const Verdict* verdict = find(verdicts, "platform:aws:p5.48xlarge:transport.inside_node");
  return verdict == nullptr ? Verdict{} : *verdict;
}

TEST(transport_inside, nvlink_promised) {
  EXPECT_EQ(inside_verdict(with_group(1, {{"transport", "NVLS,P2P/CUMEM"}}, 470), selling("EFA")).kind,
            VerdictKind::met);
  EXPECT_EQ(inside_verdict(with_group(1, {{"transport", "P2P/IPC"}}, 20), selling("EFA")).kind,
            VerdictKind::inconclusive)
      << "PCIe could carry that, too";
  Document host = with_group(1, {{"transport", "SHM/direct/direct"}}, 9);
  const Verdict verdict = inside_verdict(host, selling("EFA"));
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  EXPECT_THAT(verdict.reason, HasSubstr("through the host's memory (SHM) though NVSwitch/NVLink4 was promised"));
  host.system["environment"] = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_THAT(inside_verdict(host, selling("EFA")).diagnosis[0], HasSubstr("NCCL_P2P_DISABLE=1 is set"));
}

TEST(transport_inside, pcie_and_copies_by_the_host) {
  Document document = with_group(1, {{"transport", "P2P/IPC"}}, 20);
  for (json& device : document.system["devices"]) device["facts"] = {{"nvlink_links_active", 0}};
  EXPECT_THAT(inside_verdict(document, selling("EFA")).reason, HasSubstr("over PCIe though"));
  document = with_group(1, {{"transport", "P2P/IPC"}}, 300);
  Measurement copies = measured("p2p.read", "p2p.read.gbps", "GB/s", six(9));
  copies.evidence["access"] = {{nullptr, "through_host"}, {"through_host", nullptr}};
  document.measurements.push_back(copies);
  EXPECT_THAT(inside_verdict(document, selling("EFA")).reason,
              HasSubstr("copies between some GPUs go by way of the host"));
  EXPECT_TRUE(inside_verdict(document, selling("EFA", "NVLink4 bridge")).claim.id.empty()) << "a bridge joins pairs";
  EXPECT_TRUE(inside_verdict(document, selling("EFA", "PCIe only")).claim.id.empty());
}

TEST(transport_findings, gpu_direct_and_nvls) {
  Document document =
      with_group(2, {{"transport", "NET/AWS Libfabric"}, {"network_provider", "efa"}, {"gpu_direct_rdma", false}}, 60);
  document.measurements.push_back(
      allreduce(1, {{"transport", "P2P/CUMEM"}, {"nvls", false}, {"algorithm", "ring"}}, 360));
  const auto findings = transport_findings(document, selling("EFA"));
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].id, "transport.gpu_direct");
  EXPECT_EQ(findings[0].severity, "warning");
  EXPECT_THAT(findings[0].text, HasSubstr("NCCL used EFA without GPUDirect RDMA"));
  EXPECT_THAT(findings[0].text, HasSubstr("60.0 GB/s, of at most 750 GB/s"));
  EXPECT_EQ(findings[1].id, "transport.nvls");
  EXPECT_EQ(findings[1].severity, "info");
  EXPECT_THAT(transport_findings(document, selling("EFA", "PCIe only")), IsEmpty());
  EXPECT_THAT(transport_findings(document, selling("VPC")), SizeIs(1)) << "NVLS alone";
}

}  // namespace
}  // namespace claimcheck

// The limit that links set to a collective, by hand: NVLink 18 x 25 = 450, PCIe 5 x16 = 63, EFA 3200 Gb/s = 400 GB/s.
#include "harness/evidence/bus_limit.h"

#include "harness/evidence/derived.h"
#include "harness/report/format.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;
using nlohmann::json;

Catalog sold() {
  Catalog catalog = made::catalog();
  catalog.accelerators[0].interconnect_gbps = 900;
  catalog.accelerators[0].record["interconnect"] = "NVLink4";
  catalog.accelerators[0].record["pcie_gen"] = 5;
  catalog.platforms[0].network_gbps = 3200;
  catalog.platforms[0].record = {{"network_kind", "EFA"}, {"network_nics", 32}, {"intra_node", "NVSwitch/NVLink4"}};
  return catalog;
}

Measurement collective(const std::string& kind, int ranks, int nodes, const std::string& algorithm,
                       double value = 300) {
  Measurement made = measured(kind + "/bytes:1073741824", kind + ".busbw.gbps", "GB/s", six(value));
  made.conditions["ranks"] = ranks;
  if (nodes > 1) made.conditions["nodes"] = nodes;
  if (!algorithm.empty()) made.evidence["group"]["algorithm"] = algorithm;
  return made;
}

double expected(const Measurement& measurement) {
  return expected_bus(made::gpu_node(), measurement, sold()).value().gbps;
}

double most(const Measurement& measurement) { return most_bus(made::gpu_node(), measurement, sold()).value().gbps; }

TEST(bus_limit, one_node) {
  EXPECT_DOUBLE_EQ(expected(collective("allreduce", 8, 1, "ring")), 450);
  EXPECT_DOUBLE_EQ(expected(collective("allreduce", 8, 1, "nvls")), 450 * 1.75) << "f = 2 x 7 / 8";
  EXPECT_DOUBLE_EQ(expected(collective("allreduce", 8, 1, "")), 450 * 1.75) << "a switch that adds up may have";
  EXPECT_DOUBLE_EQ(expected(collective("allgather", 8, 1, "nvls")), 450) << "nothing is added up";
  EXPECT_EQ(expected_bus(made::gpu_node(), collective("allreduce", 8, 1, "nvls"), sold())->formula,
            "NVLink 450 x 1.75");
}

TEST(bus_limit, the_slowest_of_three_on_several_nodes) {
  const auto ring = expected_bus(made::gpu_node(), collective("allreduce", 16, 2, "ring"), sold());
  EXPECT_DOUBLE_EQ(ring->gbps, 400);
  EXPECT_EQ(ring->formula, "min(NVLink 450, PCIe 8 x 63.0 = 504, network 32 x 12.5 = 400)");
  // f = 2 x 15 / 16 = 1.875, c(2) = 1; 4 nodes: f = 1.9375, c(4) = 2.
  EXPECT_DOUBLE_EQ(expected(collective("allreduce", 16, 2, "nvls_tree")), 750);
  EXPECT_DOUBLE_EQ(expected(collective("allreduce", 32, 4, "nvls_tree")), 387.5);
  EXPECT_DOUBLE_EQ(expected(collective("allreduce", 32, 4, "collnet_direct")), 450) << "the network 775, NVLink 450";
  EXPECT_DOUBLE_EQ(expected(collective("reducescatter", 32, 4, "ring")), 400);
  // 8 ranks of a node send 8 of 16 parts to the other: 15 / (8 x 8) of 400.
  EXPECT_DOUBLE_EQ(expected(collective("alltoall", 16, 2, "")), 93.75);
}

TEST(bus_limit, a_pair_of_nodes_is_two_of_them) {
  Measurement pair = measured("network.pair", "network.pair.busbw.gbps", "GB/s", six(300));
  pair.conditions["ranks"] = 16;
  pair.conditions["nodes"] = 8;
  pair.evidence["group"]["algorithm"] = "ring";
  EXPECT_DOUBLE_EQ(expected(pair), 400);
}

TEST(bus_limit, pcie_limits_the_adapters) {
  Catalog catalog = sold();
  catalog.accelerators[0].record["pcie_gen"] = 3;  // 8 x 15.75 = 126
  const auto limit = expected_bus(made::gpu_node(), collective("allreduce", 16, 2, "ring"), catalog);
  EXPECT_DOUBLE_EQ(limit->gbps, 126);
  EXPECT_EQ(limit->formula, "min(NVLink 450, PCIe 8 x 15.8 = 126, network 32 x 12.5 = 400)");
}

TEST(bus_limit, devices_say_it_better_than_the_catalog) {
  Document document = made::gpu_node();
  for (json& device : document.system["devices"])
    device["facts"] = {{"nvlink_links", 18},
                       {"nvlink_links_active", 18},
                       {"nvlink_version", "4.0"},
                       {"pcie_gpu_max_generation", 5},
                       {"pcie_max_width", 16}};
  document.system["devices"][2]["facts"]["nvlink_links_active"] = 12;
  EXPECT_DOUBLE_EQ(expected_bus(document, collective("allreduce", 8, 1, "ring"), {})->gbps, 300);
  EXPECT_DOUBLE_EQ(most_bus(document, collective("allreduce", 8, 1, "ring"), {})->gbps, 450 * 1.75)
      << "links may come back, and an unknown card's switch may add up";
  for (json& device : document.system["devices"]) device["facts"].erase("nvlink_links_active");
  for (json& device : document.system["devices"]) device["facts"].erase("nvlink_links");
  EXPECT_DOUBLE_EQ(expected_bus(document, collective("allreduce", 8, 1, ""), {})->gbps, 63) << "PCIe alone";
  document.system["devices"][0]["facts"]["pcie_max_width"] = 8;
  EXPECT_DOUBLE_EQ(expected_bus(document, collective("allreduce", 8, 1, ""), {})->gbps, 31.5);
}

TEST(bus_limit, nothing_can_exceed) {
  // The network must carry 2 x 3/4 of the data, unless it adds up: 400 x 1.9375 / 1.5.
  EXPECT_NEAR(most(collective("allreduce", 32, 4, "ring")), 516.6667, 1e-3);
  EXPECT_DOUBLE_EQ(most(collective("allreduce", 32, 4, "")), 775);
  EXPECT_DOUBLE_EQ(most(collective("allgather", 32, 4, "ring")), 500)
      << "516.7 by the network; 450 + 400 / 8 by NVLink and the adapter beside it";
}

TEST(bus_limit, unknown_links_limit_nothing) {
  EXPECT_FALSE(expected_bus(made::gpu_node(), collective("allreduce", 8, 1, ""), {}).has_value());
  EXPECT_FALSE(expected_bus(made::cpu_machine(), collective("allreduce", 2, 1, ""), sold()).has_value());
  EXPECT_FALSE(expected_bus(made::gpu_node(), measured("x", "allreduce.latency.us", "us", six(5)), sold()).has_value());
  Measurement rack = collective("allreduce", 16, 2, "nvls");
  rack.evidence["group"]["transport"] = "NVLS,P2P/MNNVL";
  EXPECT_DOUBLE_EQ(expected(rack), 450 * 1.875) << "NVLink between machines: the network carries nothing";
}

TEST(bus_limit, above_it_is_implausible) {
  Document document = made::gpu_node();
  document.measurements = {collective("allreduce", 8, 1, "nvls", 479)};
  EXPECT_EQ(verdict_on(document, "allreduce.busbw.gbps>=470", sold()).kind, VerdictKind::met)
      << "above NVLink's 450 and right: the switch adds up";
  document.measurements = {collective("allreduce", 16, 2, "ring", 800)};
  const Verdict verdict = verdict_on(document, "allreduce.busbw.gbps>=470", sold());
  EXPECT_EQ(verdict.kind, VerdictKind::implausible);
  // f x 400 / (2 x 1/2) = 750.
  EXPECT_THAT(verdict.reason, HasSubstr("network 32 x 12.5 = 400 x 1.88) = 750 GB/s): a measurement error"));
}

TEST(bus_limit, stands_beside_the_measured_value) {
  Document document = made::gpu_node();
  document.measurements = {collective("allreduce", 16, 2, "ring", 200)};
  derive(document, sold());
  EXPECT_DOUBLE_EQ(document.measurements[0].evidence["expected_at_most"]["gbps"], 400);
  EXPECT_DOUBLE_EQ(document.measurements[0].evidence["expected_at_most"]["share"], 0.5);
  EXPECT_THAT(
      render_text(document, {}),
      HasSubstr("     expected at most 400 GB/s = min(NVLink 450, PCIe 8 x 63.0 = 504, network 32 x 12.5 = 400); this\n"
                "     is 50.0 % of it"));
}

}  // namespace
}  // namespace claimcheck

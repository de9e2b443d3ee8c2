// Ceilings of links, adapters and arithmetic, from the facts of an H100 node and from the catalog; by hand.
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;

Document node() {
  Document document = made::gpu_node();
  for (nlohmann::json& device : document.system["devices"])
    device["facts"] = {{"pcie_gpu_max_generation", 5}, {"pcie_max_width", 16},         {"nvlink_links", 18},
                       {"nvlink_version", "4.0"},      {"compute_units", 132},         {"max_sm_clock_mhz", 1980},
                       {"compute_capability", "9.0"},  {"max_memory_clock_mhz", 2619}, {"memory_bus_bits", 5120}};
  return document;
}

Measurement of(const std::string& metric, const char* unit = "GB/s", const nlohmann::json& conditions = {}) {
  Measurement measurement = measured(metric, metric, unit, six(1));
  for (int i = 0; i < 8; ++i) measurement.devices.push_back({i, "NVIDIA H100 80GB HBM3", 1});
  if (conditions.is_object()) measurement.conditions.update(conditions);
  return measurement;
}

double most(const Document& document, const Measurement& measurement, const Catalog& catalog = {}) {
  const auto limit = ceiling(document, measurement, catalog);
  return limit ? limit->value : 0;
}

TEST(PhysicsLinks, PcieToTheHost) {
  const Document document = node();
  EXPECT_DOUBLE_EQ(most(document, of("host_link.h2d.gbps")), 63);
  EXPECT_DOUBLE_EQ(most(document, of("host_link.d2h.gbps")), 63);
  EXPECT_DOUBLE_EQ(most(document, of("host_link.bidirectional.gbps")), 126);
  EXPECT_DOUBLE_EQ(most(document, of("host_link.h2d.sum.gbps")), 504) << "8 devices";
  EXPECT_EQ(most(document, of("host_link.pinned_allocation.gbps")), 0) << "no link is used";
  EXPECT_EQ(ceiling(document, of("host_link.h2d.gbps"), {})->basis, "PCIe 5.0 x16");
  Document narrow = node();
  for (nlohmann::json& device : narrow.system["devices"])
    device["facts"].update({{"pcie_gpu_max_generation", 3}, {"pcie_max_width", 8}});
  EXPECT_DOUBLE_EQ(most(narrow, of("host_link.h2d.gbps")), 7.875);
  EXPECT_DOUBLE_EQ(most(made::gpu_node(), of("host_link.h2d.gbps"), load_catalog()), 63) << "from the catalog";
  EXPECT_EQ(most(made::gpu_node(), of("host_link.h2d.gbps")), 0) << "what nobody knows gives no ceiling";
}

TEST(PhysicsLinks, ChipToChipIsNotPcie) {
  Document document = node();
  Measurement copy = of("host_link.h2d.gbps");
  for (DeviceValue& device : copy.devices) device.name = "NVIDIA GB200";
  EXPECT_EQ(most(document, copy), 0) << "201 GB/s is what its link really carries";
}

TEST(PhysicsLinks, BetweenGpus) {
  const Document document = node();
  EXPECT_DOUBLE_EQ(most(document, of("p2p.read.gbps")), 450);
  EXPECT_DOUBLE_EQ(most(document, of("p2p.write.gbps", "GB/s", {{"link", "nvlink"}})), 450);
  EXPECT_DOUBLE_EQ(most(document, of("p2p.bidirectional.gbps")), 900);
  EXPECT_DOUBLE_EQ(most(document, of("p2p.read.gbps", "GB/s", {{"link", "pcie"}})), 63);
  EXPECT_DOUBLE_EQ(most(document, of("p2p.read.gbps", "GB/s", {{"link", "host"}})), 63);
  Measurement claimed = of("p2p.read.gbps");
  claimed.value = 900;
  const auto why = implausible(document, claimed, {});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("18 NVLinks x 25 GB/s = 450 GB/s"));
  claimed.value = 454;
  EXPECT_FALSE(implausible(document, claimed, {})) << "within 1 %";
}

TEST(PhysicsLinks, Adapters) {
  Document document = node();
  document.platform = nlohmann::json::object();
  document.system["nics"] = {{{"kind", "ethernet"}, {"speed_gbps", 800}},
                             {{"kind", "infiniband"}, {"speed_gbps", 400}},
                             {{"kind", "infiniband"}, {"speed_gbps", 200}}};
  EXPECT_DOUBLE_EQ(most(document, of("network.ib.gbps")), 50);
  EXPECT_DOUBLE_EQ(most(document, of("network.rail.gbps")), 75) << "a rail may use all";
  // EFA adapters call themselves 100 Gb/s; p5en has 16 of 200.
  document.platform = {{"catalog_id", "aws:p5en.48xlarge"}};
  document.system["nics"] = {{{"kind", "efa"}, {"speed_gbps", 100}}};
  EXPECT_DOUBLE_EQ(most(document, of("network.efa.gbps"), load_catalog()), 25);
  EXPECT_DOUBLE_EQ(most(document, of("network.rail.at_once.gbps"), load_catalog()), 400);
  EXPECT_EQ(most(document, of("network.efa.latency.us", "us"), load_catalog()), 0);
}

TEST(PhysicsLinks, ArithmeticOfEveryUnit) {
  const Document document = node();
  const double clock = 132 * 1.98e9 / 1e12;  // SMs x clock
  EXPECT_NEAR(most(document, of("gemm.fp8_e4m3.tflops", "TFLOPS")), clock * 2 * 4096, 1e-9);
  EXPECT_NEAR(most(document, of("gemm.fp64.tflops", "TFLOPS")), clock * 2 * 128, 1e-9);
  EXPECT_NEAR(most(document, of("gemm.tf32.tflops", "TFLOPS")), clock * 2 * 1024, 1e-9);
  EXPECT_NEAR(most(document, of("gemm.int8.tops", "TOPS")), clock * 2 * 4096, 1e-9);
  EXPECT_NEAR(most(document, of("tensor.bf16.tflops", "TFLOPS")), clock * 2 * 2048, 1e-9);
  EXPECT_NEAR(most(document, of("vector.fp64.tflops", "TFLOPS")), clock * 2 * 64, 1e-9) << "without tensor cores";
  EXPECT_NEAR(most(document, of("vector.fp32.tflops", "TFLOPS")), clock * 2 * 128, 1e-9);
  EXPECT_EQ(most(document, of("vector.dp4a.tops", "TOPS")), 0) << "no rate known";
  EXPECT_NEAR(most(document, of("training.tflops", "TFLOPS", {{"data_type", "bf16"}})), clock * 2 * 2048, 1e-9);
  EXPECT_NEAR(most(document, of("memory.triad.gbps")), 3352.32, 1e-6);
}

}  // namespace
}  // namespace claimcheck

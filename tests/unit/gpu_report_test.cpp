// What a report shows of several GPUs, and what the judge reads from their sensors. Names are those of kernels/cuda.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/judge/diagnosis_gpu.h"
#include "harness/report/format.h"
#include "harness/report/layout.h"
#include "harness/report/text.h"
#include "harness/run/price.h"
#include "tests/unit/catalog_fixture.h"

namespace claimcheck {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Measurement of_gpus(const std::string& id, const std::string& metric, double value, int gpus) {
  Measurement measurement;
  measurement.id = id;
  measurement.metric = metric;
  measurement.value = value;
  measurement.unit = "GB/s";
  measurement.status = Outcome::ok;
  for (int i = 0; i < gpus; ++i) measurement.devices.push_back({i, "NVIDIA H100", value});
  return measurement;
}

Document with_gpus(const std::vector<json>& facts) {
  Document document;
  document.system["devices"] = json::array();
  for (std::size_t i = 0; i < facts.size(); ++i)
    document.system["devices"].push_back({{"index", i}, {"name", "NVIDIA H100"}, {"facts", facts[i]}});
  return document;
}

std::vector<std::string> reasons(const Document& document, const Measurement& measurement) {
  std::vector<std::string> found;
  gpu_reasons(document, measurement, found);
  return found;
}

// ---------------------------------------------------------------------------------------------- reasons

TEST(gpu_reasons, healthy_gpus_give_none) {
  const json facts = {{"power_limit_w", 700},      {"power_limit_default_w", 700}, {"nvlink_links", 18},
                      {"nvlink_links_active", 18}, {"pcie_max_width", 16},         {"pcie_gpu_max_generation", 5}};
  Measurement measurement = of_gpus("gemm.bf16/n:8192", "gemm.bf16.tflops", 700, 2);
  const json sensors = {{"sm_clock_mhz", 1755}, {"power_w", 690}, {"throttle_reasons", "sw_power_cap"}};
  measurement.evidence = {{"devices", {sensors, sensors}}};
  EXPECT_THAT(reasons(with_gpus({facts, facts}), measurement), IsEmpty()) << "a power cap under full load is usual";
}

TEST(gpu_reasons, a_slow_clock_and_its_power_limit_are_named) {
  Measurement measurement = of_gpus("gemm.bf16/n:8192", "gemm.bf16.tflops", 612, 3);
  const json fast = {{"sm_clock_mhz", 1755}};
  const json slow = {{"sm_clock_mhz", 1410}, {"power_w", 549.6}, {"temperature_highest_c", 61}};
  measurement.evidence = {{"devices", {fast, fast, slow}}};
  const json limited = {{"power_limit_w", 550}, {"power_limit_default_w", 700}};
  const std::vector<std::string> found = reasons(with_gpus({json::object(), json::object(), limited}), measurement);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0],
              HasSubstr("GPU 2 ran at 1410 MHz while the others held 1755 MHz, at 550 W, 61 C. -> nvidia-smi -i 2"));
  EXPECT_THAT(found[1], HasSubstr("GPU 2 has a power limit of 550 W; its default is 700 W."));
}

TEST(gpu_reasons, throttling_is_read_by_name_as_text_or_list) {
  Measurement measurement = of_gpus("vector.fp32", "vector.fp32.tflops", 40, 1);
  measurement.evidence = {{"throttle_reasons", "sw_power_cap,hw_thermal_slowdown"}, {"temperature_highest_c", 91}};
  EXPECT_THAT(reasons({}, measurement), ElementsAre(HasSubstr("GPU 0 was slowed down by heat, 91 C.")));
  measurement.evidence = {{"throttle_reasons", {"hw_power_brake"}}};
  EXPECT_THAT(reasons({}, measurement), ElementsAre(HasSubstr("hw_power_brake")));
  measurement.evidence = {{"throttle_reasons", "no_hw_power_brake_here"}};
  EXPECT_THAT(reasons({}, measurement), IsEmpty());
}

TEST(gpu_reasons, links_are_explained_where_they_matter) {
  const json facts = {{"pcie_max_width", 16},
                      {"pcie_gpu_max_generation", 5},
                      {"nvlink_links", 18},
                      {"nvlink_links_active", 12},
                      {"fabric_state", "in_progress"}};
  const Document document = with_gpus({facts});
  Measurement host = of_gpus("host_link.h2d/all", "host_link.h2d.gbps", 13, 1);
  host.evidence = {{"pcie_width_highest", 8}, {"pcie_generation", 4}};
  EXPECT_THAT(reasons(document, host),
              ElementsAre(HasSubstr("has 8 of 16 lanes"), HasSubstr("runs as generation 4; the GPU can do 5")));
  Measurement peers = of_gpus("p2p.read", "p2p.read.gbps", 8, 1);
  peers.evidence = {{"access", {{nullptr, "through_host"}, {"through_host", nullptr}}}};
  EXPECT_THAT(reasons(document, peers),
              ElementsAre(HasSubstr("12 of 18 NVLinks of GPU 0"), HasSubstr("fabric (in_progress)"),
                          HasSubstr("by way of the host")));
}

TEST(gpu_reasons, a_shared_uplink_shows_when_all_copy_at_once) {
  Document document;
  Measurement alone = of_gpus("host_link.h2d/each", "host_link.h2d.gbps", 55.4, 8);
  alone.conditions["devices_at_once"] = 1;
  Measurement all = of_gpus("host_link.h2d/all", "host_link.h2d.gbps", 27.8, 8);
  all.conditions["devices_at_once"] = "all";
  document.measurements = {alone, all};
  EXPECT_THAT(reasons(document, all),
              ElementsAre(HasSubstr("Devices share an uplink: alone each reaches 55.4 GB/s, all at once 27.8 GB/s.")));
  EXPECT_THAT(reasons(document, alone), IsEmpty());
}

TEST(gpu_reasons, sockets_count_only_when_they_were_used) {
  Measurement measurement = of_gpus("allreduce/bytes:8", "allreduce.busbw.gbps", 4, 2);
  measurement.evidence = {{"group", {{"network", "Socket"}, {"transport", "P2P/CUMEM"}}}};
  EXPECT_THAT(reasons({}, measurement), IsEmpty());
  measurement.evidence = {{"group", {{"network", "Socket"}, {"transport", "NET/Socket"}}}};
  EXPECT_THAT(reasons({}, measurement), ElementsAre(HasSubstr("fell back to sockets")));
}

TEST(gpu_reasons, a_slice_is_no_slow_gpu) {
  const Document document = with_gpus({{{"mig_instance", true}}, {{"virtualization", "vgpu"}}});
  EXPECT_THAT(reasons(document, of_gpus("memory.read", "memory.read.gbps", 200, 2)),
              ElementsAre(HasSubstr("Device 0 is a slice of a GPU (a MIG instance)"),
                          HasSubstr("Device 1 is a slice of a GPU (vGPU)")));
}

// ---------------------------------------------------------------------------------------------- report

TEST(links_text, a_matrix_has_a_row_for_each_device) {
  Document document;
  document.measurements = {of_gpus("p2p.read", "p2p.read.gbps", 180, 3)};
  document.measurements[0].evidence = {
      {"matrix_gbps", {{nullptr, 392.4, 391}, {390, nullptr, 180.2}, {391.5, 393, nullptr}}},
      {"access", {{nullptr, "direct", "direct"}, {"direct", nullptr, "through_host"}, {"direct", "direct", nullptr}}}};
  const std::string text = report::links_text(document, {});
  EXPECT_THAT(text, HasSubstr("device to device, read, GB/s (180 .. 393); row: the device at work"));
  EXPECT_THAT(text, HasSubstr(" 1  390    -  180*"));
  EXPECT_THAT(text, HasSubstr(" 2  392  393     -"));
  EXPECT_THAT(text, HasSubstr("* by way of the host"));
  document.measurements[0].evidence["matrix_gbps"] = {{nullptr, 1}, {2}};
  EXPECT_THAT(report::links_text(document, {}), IsEmpty()) << "not square";
}

TEST(links_text, the_all_reduce_is_a_curve_from_three_sizes_on) {
  Document document;
  for (const auto& [bytes, rate] :
       {std::pair(16777216, 234.0), std::pair(2097152, 58.5), std::pair(134217728, 400.0)}) {
    document.measurements.push_back(
        of_gpus("allreduce/bytes:" + std::to_string(bytes), "allreduce.busbw.gbps", rate, 2));
    document.measurements.back().conditions = {{"bytes", bytes}, {"in_place", false}};
  }
  const std::string text = report::links_text(document, {});
  EXPECT_THAT(text, HasSubstr("  2 MiB  58.5  ======\n"));  // 58.5 / 400 of 40
  EXPECT_THAT(text, HasSubstr("128 MiB   400  " + std::string(40, '=') + "\n"));
  EXPECT_LT(text.find("2 MiB"), text.find("16 MiB"));
  document.measurements.pop_back();
  EXPECT_THAT(report::links_text(document, {}), IsEmpty());
}

Document with_nodes(const json& evidence) {
  Document document;
  for (const auto& [metric, unit] :
       {std::pair("network.pair.busbw.gbps", "GB/s"), std::pair("network.pair.latency.us", "us")}) {
    document.measurements.push_back(of_gpus("network.pair", metric, 20, 1));
    document.measurements.back().unit = unit;
    document.measurements.back().evidence = evidence;
  }
  return document;
}

TEST(nodes_text, the_matrix_of_nodes_names_the_guilty_once) {
  const Document document =
      with_nodes({{"node_matrix_gbps", {{nullptr, 46.1, 20.5}, {46.1, nullptr, 20.1}, {20.5, 20.1, nullptr}}},
                  {"node_matrix_us", {{nullptr, 31, 32}, {31, nullptr, 33}, {32, 33, nullptr}}},
                  {"node_medians_gbps", {33.3, 33.1, 20.3}},
                  {"slow_below_gbps", 41.5},
                  {"measured_again", {{{"nodes", {0, 2}}, {"alone_gbps", 20.7}}, {{"nodes", {1}}}}},
                  {"verdict", "node 2 is slow (bandwidth with 2 of 2 nodes)"}});
  const std::string text = report::nodes_text(document, {});
  EXPECT_THAT(text, HasSubstr(" two nodes, all-reduce, GB/s, every two nodes\n"));
  EXPECT_THAT(text, HasSubstr("    1  46.1     -  20.1\n"));
  EXPECT_THAT(text, HasSubstr(" alone     0-2 20.7\n"));
  EXPECT_THAT(text, HasSubstr(" two nodes, latency, us, every two nodes\n"));
  EXPECT_THAT(text, HasSubstr("    2  32.0  33.0     -\n"));
  const std::size_t verdict = text.find(" verdict   node 2 is slow (bandwidth with 2 of 2 nodes)\n");
  EXPECT_NE(verdict, std::string::npos);
  EXPECT_EQ(text.find("verdict", verdict + 10), std::string::npos);
  EXPECT_THAT(render_text(document, {}), HasSubstr("NODES\n two nodes"));
  EXPECT_THAT(report::links_text(document, {}), IsEmpty()) << "these are no devices";
  ReportOptions colours;
  colours.colour = true;
  EXPECT_THAT(report::nodes_text(document, colours), HasSubstr(paint("20.1", Colour::bad, true)));
}

TEST(nodes_text, of_many_nodes_the_slowest_are_listed) {
  std::vector<double> medians(40, 46);
  medians[33] = 12.5;
  const std::string text =
      report::nodes_text(with_nodes({{"node_medians_gbps", medians}, {"verdict", "node 33 is slow"}}), {});
  EXPECT_THAT(text, HasSubstr(" the slowest 12 of 40 nodes\n"));
  EXPECT_THAT(text, HasSubstr("  33                       12.5\n"));
}

TEST(nodes_text, what_is_of_another_shape_is_left_out) {
  EXPECT_THAT(
      report::nodes_text(with_nodes({{"node_matrix_gbps", {{nullptr, 1}, {2}}}, {"node_medians_gbps", "many"}}), {}),
      IsEmpty());
  const std::string text = report::nodes_text(
      with_nodes({{"node_matrix_gbps", {{nullptr, "x"}, {2, nullptr}}}, {"node_medians_gbps", {1, 2}}, {"verdict", 7}}),
      {});
  EXPECT_THAT(text, HasSubstr("    1  2.00  -\n"));
  EXPECT_THAT(text, Not(HasSubstr("verdict")));
}

TEST(measurements_text, small_figures_keep_their_unit) {
  Document document;
  document.measurements = {of_gpus("gemm.fp64/m:8192,n:14336,k:4096", "gemm.fp64.tflops", 0.003432, 1)};
  Measurement& small = document.measurements[0];
  small.unit = "TFLOPS";
  small.statistics =
      Statistics{0.003432, 0.003411, 0.003461, 0.004, std::pair(0.003419, 0.003452), {0.003432, 0.003461}};
  const std::string text = report::measurements_text(document, {});
  EXPECT_THAT(text, HasSubstr("0.00343 TFLOPS  0.00341 .. 0.00346"));
  EXPECT_THAT(text, HasSubstr("0.00342 .. 0.00345"));
  EXPECT_THAT(text, Not(HasSubstr("TFLO…")));
}

TEST(render_text, a_virtual_machine_is_said_first) {
  Document document;
  document.is_virtual = true;
  EXPECT_TRUE(render_text(document, {}).starts_with("VIRTUAL")) << render_text(document, {});
}

// ---------------------------------------------------------------------------------------------- price

TEST(price_of, the_latest_line_counts_not_the_cheapest_ever) {
  SmallCatalog catalog;
  catalog.tables["prices/aws.csv"] =
      catalog.tables["prices/aws.csv"].substr(0, catalog.tables["prices/aws.csv"].find('\n') + 1);
  catalog.price("p5.48xlarge,us-1,on_demand,31,USD,instance-hour,2024-01-01,nvidia-h100-sxm-80,8,,,list");
  catalog.price("p5.48xlarge,us-1,on_demand,55.04,USD,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,list");
  const Catalog loaded = catalog.load();
  const Platform* platform = loaded.find_platform("aws:p5.48xlarge");
  ASSERT_NE(platform, nullptr);
  const json price = price_of({}, platform, loaded);
  EXPECT_EQ(price["per_hour"], 55.04);
  EXPECT_EQ(price["as_of"], "2026-07-20");
  EXPECT_EQ(price["unit"], "node-hour");
}

TEST(price_of, its_own_region_counts_before_a_cheaper_one) {
  SmallCatalog catalog;
  catalog.price("p5.48xlarge,eu-1,on_demand,60,USD,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,list");
  const Catalog loaded = catalog.load();
  const Platform* platform = loaded.find_platform("aws:p5.48xlarge");
  EXPECT_EQ(price_of({}, platform, loaded, "eu-1")["per_hour"], 60);
  EXPECT_EQ(price_of({}, platform, loaded, "us-east-2")["per_hour"], 55.04);
  EXPECT_EQ(price_of({}, platform, loaded, "nowhere")["per_hour"], 55.04);
}

}  // namespace
}  // namespace claimcheck

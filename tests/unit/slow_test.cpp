// Slow GPUs, nodes and links in documents made by hand: one finding each, with its evidence and its cause.
#include "harness/evidence/slow.h"

#include "harness/evidence/left_out.h"
#include "harness/judge/findings.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;
using nlohmann::json;
using testing::SizeIs;

Measurement of_devices(const std::string& id, const std::string& metric, const std::string& unit,
                       const std::vector<double>& values) {
  Measurement measurement = measured(id, metric, unit, six(*std::min_element(values.begin(), values.end())));
  for (std::size_t i = 0; i < values.size(); ++i)
    measurement.devices.push_back({static_cast<int>(i), "NVIDIA H100 80GB HBM3", values[i]});
  return measurement;
}

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings) all.push_back(finding.id);
  return all;
}

std::vector<double> eight(double usual, double third) {
  return {usual, usual, usual, third, usual, usual, usual, usual};
}

TEST(slow_findings, one_gpu_is_named_once_with_all_that_speaks_for_it) {
  Document document = made::gpu_node();
  document.system["devices"][3]["facts"] = {{"pci_bus_id", "0000:13:00.0"}};
  document.measurements = {of_devices("memory.triad", "memory.triad.gbps", "GB/s", eight(3000, 2400)),
                           of_devices("gemm.bf16/n:4096", "gemm.bf16.tflops", "TFLOPS", eight(780, 700)),
                           of_devices("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", eight(794, 556)),
                           of_devices("vector.fp32", "vector.fp32.tflops", "TFLOPS", eight(64, 63))};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("gpu.slow:3"));
  EXPECT_EQ(findings[0].severity, "warning");
  EXPECT_EQ(findings[0].text,
            "GPU 3 (0000:13:00.0) is slower than its peers: 30.0 % in gemm.bf16 (556 instead of 794 TFLOPS), 20.0 % in "
            "memory.triad (2400 instead of 3000 GB/s).");
  EXPECT_THAT(findings[0].next_step, HasSubstr("nvidia-smi -i 0000:13:00.0 -q -d PERFORMANCE"));
  EXPECT_EQ(findings[0].evidence["device"], 3);
  ASSERT_EQ(findings[0].evidence["measured"].size(), 2U);
  EXPECT_EQ(findings[0].evidence["measured"][0]["id"], "gemm.bf16/n:8192");
  EXPECT_NEAR(findings[0].evidence["measured"][0]["slower"].get<double>(), 0.29975, 1e-5);
}

TEST(slow_findings, its_own_sensors_say_why) {
  Document document = made::gpu_node();
  document.system["devices"][3]["facts"] = {{"power_limit_w", 400}, {"power_limit_default_w", 700}};
  document.measurements = {of_devices("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", eight(794, 556)),
                           of_devices("gemm.fp16/n:8192", "gemm.fp16.tflops", "TFLOPS", eight(790, 560))};
  json sensors = json::array();
  for (int i = 0; i < 8; ++i) sensors.push_back({{"sm_clock_mhz", i == 3 ? 1200 : 1755}});
  sensors[3]["throttle_reasons"] = "sw_power_cap,hw_thermal_slowdown";
  document.measurements[0].evidence["devices"] = sensors;
  document.measurements[1].evidence["devices"] = sensors;
  const auto findings = slow_findings(document);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, AllOf(HasSubstr("GPU 3 ran at 1200 MHz while the others held 1755 MHz."),
                                      HasSubstr("GPU 3 was slowed down by heat."),
                                      HasSubstr("GPU 3 has a power limit of 400 W; its default is 700 W.")));
  EXPECT_EQ(findings[0].evidence["causes"].size(), 3U) << "each once, though two measurements saw it";
  EXPECT_THAT(findings[0].next_step, HasSubstr("Ask the provider about its cooling"));
}

TEST(slow_findings, of_two_nobody_knows_which) {
  Document document = made::gpu_node();
  document.measurements = {of_devices("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", {794, 556})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("gpu.differ"));
  EXPECT_EQ(
      findings[0].text,
      "The two GPUs differ: GPU 1 by 30.0 % in gemm.bf16 (556 instead of 794 TFLOPS). Of two alone nobody can tell "
      "which one is as it should be.");
}

TEST(slow_findings, longer_times_are_slower) {
  Document document = made::gpu_node();
  document.measurements = {
      of_devices("memory.hbm.latency", "memory.hbm.latency.ns", "ns", {560, 560, 560, 560, 560, 560, 560, 800})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("gpu.slow:7"));
  EXPECT_THAT(findings[0].text, HasSubstr("30.0 % in memory.hbm.latency (800 instead of 560 ns)"));
}

TEST(slow_findings, healthy_unstable_and_zeros_give_none) {
  Document document = made::gpu_node();
  document.measurements = {of_devices("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", eight(794, 780)),
                           of_devices("memory.triad", "memory.triad.gbps", "GB/s", eight(3000, 2000)),
                           of_devices("gemm.bf16/zeros", "gemm.bf16.tflops", "TFLOPS", eight(794, 500))};
  document.measurements[1].status = Outcome::unstable;
  document.measurements[2].conditions["data_pattern"] = "zeros";
  EXPECT_THAT(slow_findings(document), IsEmpty());
}

// Four nodes of two processes, one GPU each, as a launcher starts them.
Document cluster(int nodes) {
  Document document = made::gpu_node();
  json devices = json::array();
  for (int i = 0; i < 2 * nodes; ++i)
    devices.push_back(
        {{"index", i},
         {"name", "NVIDIA H100 80GB HBM3"},
         {"facts", {{"process", i}, {"node", i / 2}, {"pci_bus_id", i % 2 == 0 ? "0000:10:00.0" : "0000:20:00.0"}}}});
  document.system["devices"] = devices;
  return document;
}

Measurement of_processes(const std::vector<double>& values) {
  Measurement measurement = measured("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", six(values[0]));
  measurement.devices = {{0, "NVIDIA H100 80GB HBM3", values[0]}};
  measurement.conditions["processes"] = values.size();
  json processes = json::array();
  for (std::size_t i = 0; i < values.size(); ++i)
    processes.push_back({{"process", i}, {"node", i / 2}, {"name", "NVIDIA H100 80GB HBM3"}, {"value", values[i]}});
  measurement.evidence["processes"] = processes;
  return measurement;
}

TEST(slow_findings, a_node_is_named_when_all_of_it_lags) {
  Document document = cluster(4);
  document.measurements = {of_processes({790, 792, 560, 562, 791, 790, 793, 790})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("node.slow:1"));
  // The best of each node: 792, 562, 791, 793; the median of those is 791.5.
  EXPECT_THAT(findings[0].text,
              HasSubstr("Node 1 is slower than its peers: 29.0 % in gemm.bf16 (562 instead of 792 TFLOPS)."));
}

TEST(slow_findings, one_gpu_of_a_cluster_is_named_with_its_node) {
  Document document = cluster(4);
  document.measurements = {of_processes({790, 792, 790, 560, 791, 790, 793, 790})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "gpu.slow:3");
  EXPECT_THAT(findings[0].text,
              HasSubstr("GPU 3 (0000:20:00.0, node 1) is slower than its peers: 29.1 % in gemm.bf16"));
}

TEST(slow_findings, of_two_nodes_nobody_knows_which) {
  Document document = cluster(2);
  document.measurements = {of_processes({790, 792, 560, 562})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("node.differ"));
  EXPECT_THAT(findings[0].text, HasSubstr("The two nodes differ: Node 1 by 29.0 % in gemm.bf16"));
  EXPECT_THAT(findings[0].next_step, HasSubstr("third node"));
}

Measurement with_matrix(const std::string& metric, const json& matrix) {
  const std::string id = metric.substr(0, metric.rfind('.'));
  Measurement measurement = measured(id, metric, "GB/s", six(10));
  measurement.evidence["matrix_gbps"] = matrix;
  return measurement;
}

TEST(slow_findings, a_link_and_a_node_of_a_matrix) {
  Document document = made::gpu_node();
  document.measurements = {
      with_matrix(
          "p2p.read.gbps",
          {{nullptr, 390, 390, 390}, {390, nullptr, 200, 390}, {390, 210, nullptr, 390}, {390, 390, 390, nullptr}}),
      with_matrix("network.pair.gbps",
                  {{nullptr, 48, 12, 48}, {48, nullptr, 12, 48}, {12, 12, nullptr, 12}, {48, 48, 12, nullptr}})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("link.slow:1-2", "node.slow:2"));
  EXPECT_EQ(
      findings[0].text,
      "The link between GPU 1 and GPU 2 is slower than the others: 48.7 % in p2p.read (200 instead of 390 GB/s).");
  EXPECT_EQ(findings[1].text, "Node 2 is slower than its peers: 75.0 % in network.pair (12.0 instead of 48.0 GB/s).");
}

TEST(slow_findings, a_sweep_over_pairs_of_nodes_is_believed) {
  Document document = cluster(4);
  Measurement sweep = measured("network.pair", "network.pair.busbw.gbps", "GB/s", six(11));
  sweep.evidence = {{"guilty_nodes", {2}},
                    {"guilty_links", {{0, 3}}},
                    {"level_gbps", 48},
                    {"node_medians_gbps", {48, 48, 12, 47}},
                    {"node_matrix_gbps",
                     {{nullptr, 48, 12, 20}, {48, nullptr, 12, 48}, {12, 12, nullptr, 12}, {20, 48, 12, nullptr}}},
                    {"measured_again", {{{"nodes", {0, 3}}, {"alone_gbps", 24}}}}};
  document.measurements = {sweep, of_processes({790, 792, 790, 790, 560, 562, 790, 790})};
  const auto findings = slow_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("node.slow:2", "network.slow:0-3"));
  EXPECT_EQ(findings[0].text,
            "Node 2 is slower than its peers: 75.0 % in network.pair.busbw (12.0 instead of 48.0 GB/s), 28.9 % in "
            "gemm.bf16 (562 instead of 790 TFLOPS).")
      << "one finding for the node, whatever showed it";
  EXPECT_THAT(findings[1].text, HasSubstr("The link between nodes 0 and 3 is slower than the others: 50.0 % in"));
}

TEST(slow_findings, who_waits_in_a_collective_is_not_slow) {
  Document document = cluster(4);
  document.measurements = {of_processes({10, 10, 10, 10, 10, 10, 10, 5})};
  document.measurements[0].metric = "allreduce.busbw.gbps";
  EXPECT_THAT(slow_findings(document), IsEmpty());
}

TEST(left_out, each_gpu_with_its_reason) {
  Document document = made::gpu_node();
  EXPECT_THAT(left_out_devices(document), IsEmpty());
  document.system["software"]["worker"]["left_out"] =
      "GPU 3: CUDA: cudaErrorECCUncorrectable: bad memory; reset it; GPU 5: it is busy";
  const auto devices = left_out_devices(document);
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].index, 3);
  EXPECT_EQ(devices[0].reason, "CUDA: cudaErrorECCUncorrectable: bad memory; reset it");
  EXPECT_EQ(devices[1].index, 5);
  EXPECT_EQ(names_of(devices), "GPUs 3 and 5");
  const auto findings = left_out_findings(document);
  ASSERT_THAT(ids(findings), ElementsAre("gpu.left_out:3", "gpu.left_out:5"));
  EXPECT_EQ(findings[1].severity, "error");
  EXPECT_THAT(findings[1].text, HasSubstr("GPU 5 did not start; the others were measured without it: it is busy."));
}

TEST(left_out, fewer_gpus_meet_no_claim_about_all) {
  Document document = made::gpu_node();
  document.system["devices"].erase(7);
  document.system["software"]["worker"]["left_out"] = "GPU 3: it fell off the bus";
  document.measurements = {made::gemm_bf16(790, 794, 7)};
  const auto verdicts =
      all_verdicts(document, parse_claims({"gemm.bf16.tflops>=700", "gemm.bf16.tflops>=900"}), made::catalog());
  const Verdict* count = find(verdicts, "platform:aws:p5.48xlarge:accelerator_count");
  ASSERT_NE(count, nullptr);
  EXPECT_EQ(count->kind, VerdictKind::contradicted);
  EXPECT_EQ(count->reason, "7 of 8 GPUs work; GPU 3 did not start");
  ASSERT_FALSE(count->diagnosis.empty());
  EXPECT_THAT(count->diagnosis[0], HasSubstr("it fell off the bus. -> "));
  EXPECT_EQ(find(verdicts, "user:1")->kind, VerdictKind::not_measured);
  EXPECT_THAT(find(verdicts, "user:1")->reason, HasSubstr("GPU 3 did not start"));
  EXPECT_EQ(find(verdicts, "user:2")->kind, VerdictKind::not_met) << "what the seven do not reach, eight do not";
  EXPECT_EQ(find(verdicts, "data_sheet:nvidia-h100-sxm-80:gemm.bf16.tflops")->kind, VerdictKind::not_measured);
}

TEST(left_out, a_part_of_the_gpus_is_not_all) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(790, 794, 1)};
  const Verdict verdict = verdict_on(document, "gemm.bf16.tflops>=700", made::catalog());
  EXPECT_EQ(verdict.kind, VerdictKind::not_measured);
  EXPECT_THAT(verdict.reason, HasSubstr("only 1 of 8 GPUs was measured"));
}

TEST(measured_findings, judging_again_replaces_them) {
  Document document = made::gpu_node();
  document.findings = {{"cpu.steal", "warning", "stolen", "", json::object()},
                       {"gpu.slow:1", "warning", "old", "", json::object()}};
  document.measurements = {of_devices("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", eight(794, 556))};
  for (int i = 0; i < 2; ++i) replace_measured_findings(document, measured_findings(document, made::catalog()));
  EXPECT_THAT(ids(document.findings), ElementsAre("cpu.steal", "gpu.slow:3"));
}

}  // namespace
}  // namespace claimcheck

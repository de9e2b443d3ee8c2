// What a prediction is made from - results, the catalog - and the answer as a document and as text.
#include <fmt/format.h>

#include "harness/report/layout.h"
#include "tests/unit/made_results.h"
#include "tests/unit/scale_support.h"

namespace claimcheck::scale {
namespace {

using scale_test::HasSubstr;
using scale_test::json;
using scale_test::refusal;
using scale_test::us;

Measurement allreduce(int nodes, int ranks, double bytes, double seconds, const std::string& algorithm = "") {
  const double gbps = bus_factor(ranks) * bytes / seconds / 1e9;
  Measurement measurement =
      made::measured(fmt::format("allreduce/bytes:{:.0f}", bytes), "allreduce.busbw.gbps", "GB/s", made::six(gbps, 0));
  measurement.conditions = {{"pattern", "normal"}, {"ranks", ranks}, {"bytes", bytes}};
  if (nodes > 1) measurement.conditions["nodes"] = nodes;
  if (!algorithm.empty()) measurement.evidence = {{"group", {{"algorithm", algorithm}}}};
  return measurement;
}

// 40 us and 250 GB/s on one node.
Document one_node(const std::string& algorithm = "") {
  Document document = made::gpu_node();
  for (const double bytes : {1e6, 1e8, 1e10}) {
    document.measurements.push_back(allreduce(1, 8, bytes, 40 * us + bytes / 250e9, algorithm));
  }
  document.measurements.push_back(made::gemm_bf16(700, 720));
  return document;
}

Catalog catalog() {
  Catalog made = made::catalog();
  for (Accelerator& accelerator : made.accelerators) {
    if (accelerator.vendor != "NVIDIA") continue;
    accelerator.interconnect_gbps = 900;
    accelerator.record["interconnect"] = "NVLink4";
  }
  made.platforms[0].network_gbps = 3200;
  made.platforms[0].record = {{"network_kind", "InfiniBand NDR"}, {"network_nics", 8}};
  return made;
}

TEST(ScaleMachine, FromTheCatalogAlone) {
  MachineOptions options;
  options.instance = "aws:p5.48xlarge";
  const Machine machine = machine_of(nullptr, catalog(), options);
  EXPECT_EQ(machine.fabric.ranks_per_node, 8);
  EXPECT_NEAR(machine.fabric.ring_rate, 450e9 * 20.6 / 25, 1);  // nothing measured: the links
  EXPECT_FALSE(machine.fabric.in_switch_rate);
  EXPECT_NEAR(*machine.fabric.network_rate, 400e9 * 0.98, 1);
  EXPECT_NEAR(*machine.rank_tflops, 800, 1e-9);
  for (const Fact& fact : machine.facts) EXPECT_TRUE(fact.estimate) << fact.name;
}

TEST(ScaleMachine, FromValuesOfTheCatalog) {
  Catalog made = catalog();
  Expected point = made::expected("nvidia-h100-sxm-80", "allreduce.busbw.gbps", "GB/s", 437.5);
  point.conditions = {{"nodes", 1}, {"ranks", 8}, {"bytes", 1e9}, {"algorithm", "nvls"}};
  made.expected.push_back(point);
  point.typical = 360;
  point.conditions["algorithm"] = "ring";
  made.expected.push_back(point);
  point.typical = 999;  // of several nodes: what is to be predicted is no input
  point.conditions = {{"nodes", 2}, {"ranks", 16}, {"bytes", 1e9}};
  made.expected.push_back(point);
  MachineOptions options;
  options.instance = "aws:p5.48xlarge";
  const Machine machine = machine_of(nullptr, made, options);
  EXPECT_NEAR(machine.fabric.ring_rate, 360e9, 1);
  EXPECT_NEAR(*machine.fabric.in_switch_rate, 437.5e9 / 1.75, 1);
  EXPECT_EQ(machine.fabric.overhead_seconds, 0);  // one size says nothing of the start
}

TEST(ScaleMachine, AMeasuredNodeSpeaksForItself) {
  const Document document = one_node("nvls");
  const Machine machine = machine_of(&document, catalog(), {});
  EXPECT_NEAR(*machine.fabric.in_switch_rate, 250e9, 1e3);
  EXPECT_NEAR(machine.fabric.overhead_seconds, 15 * us, 1e-12);  // 40 - 25
  EXPECT_NEAR(machine.measured.at(1).alpha_seconds, 40 * us, 1e-12);
  EXPECT_NEAR(*machine.rank_tflops, 700, 1e-9);
  const Document ring = one_node("ring");
  const Machine other = machine_of(&ring, catalog(), {});
  EXPECT_FALSE(other.fabric.in_switch_rate);
  EXPECT_NEAR(other.fabric.ring_rate, 250e9 * 1.75, 1e3);
  EXPECT_NEAR(other.fabric.overhead_seconds, -16 * us, 1e-12);  // 40 - 56
}

// Two nodes reach 100 GB/s of size / time: each sends every byte once, so the network carries 100 GB/s.
// Start 200 us = 25 + 15 (node) + 2 (20.9 + x): x = 59.1 us.
TEST(ScaleMachine, SeveralMeasuredNodesTellTheNetwork) {
  Document document = one_node("nvls");
  for (const double bytes : {1e6, 1e8, 1e10}) {
    document.measurements.push_back(allreduce(2, 16, bytes, 200 * us + bytes / 100e9));
  }
  const Machine machine = machine_of(&document, catalog(), {});
  EXPECT_NEAR(*machine.fabric.network_rate, 100e9, 1e4);
  EXPECT_NEAR(machine.fabric.network_seconds, 59.1 * us, 1e-10);
  EXPECT_EQ(machine.measured.size(), 2);
}

TEST(ScaleMachine, NodesThatLimitSayLittleOfTheNetwork) {
  Document document = one_node("nvls");
  for (const double bytes : {1e6, 1e8, 1e10}) {
    document.measurements.push_back(allreduce(2, 16, bytes, 100 * us + bytes / 249e9));
  }
  const Machine machine = machine_of(&document, catalog(), {});
  EXPECT_NEAR(*machine.fabric.network_rate, 392e9, 1e3);  // the catalog's
}

TEST(ScaleMachine, CurvesLeaveOutWhatDoesNotCount) {
  Document document = one_node();
  Measurement in_place = allreduce(1, 8, 1e6, 1);
  in_place.conditions["in_place"] = true;
  Measurement broken = allreduce(1, 8, 1e7, 1);
  broken.status = Outcome::unstable;
  Measurement latency = made::measured("allreduce.latency", "allreduce.latency.us", "us", made::six(20, 0));
  latency.conditions = {{"pattern", "normal"}, {"ranks", 8}, {"bytes", 8}};
  for (const Measurement& more : {in_place, broken, allreduce(1, 8, 8, 1), latency, allreduce(4, 32, 1e6, 1)}) {
    document.measurements.push_back(more);
  }
  const std::vector<Curve> curves = measured_curves(document);
  ASSERT_EQ(curves.size(), 2);
  EXPECT_EQ(curves[0].points.size(), 4);  // three sizes and the latency, which wins over the rate of 8 bytes
  EXPECT_NEAR(curves[0].points.back().seconds, 20 * us, 1e-12);
  EXPECT_EQ(curves[1].nodes, 4);
  EXPECT_EQ(curves[1].ranks, 32);
}

TEST(ScaleMachine, RefusesWhatItCannotKnow) {
  MachineOptions options;
  EXPECT_THAT(refusal([&] { machine_of(nullptr, catalog(), options); }), HasSubstr("--gpus-per-node"));
  options.instance = "aws:p5.48xlarg";
  EXPECT_THAT(refusal([&] { machine_of(nullptr, catalog(), options); }), HasSubstr("did you mean \"aws:p5.48xlarge\""));
  options.instance = "acme:x1.small";
  options.ranks_per_node = 2;
  EXPECT_THAT(refusal([&] { machine_of(nullptr, catalog(), options); }, ExitCode::incomplete),
              HasSubstr("nothing is known of an all-reduce"));
}

ScaleOptions options() {
  ScaleOptions made;
  made.model = training_model("1.3B");
  made.nodes = {1, 16};
  made.nodes_asked = true;
  return made;
}

TEST(ScaleJson, MeasuredNodesAreShownAsMeasured) {
  const Document document = one_node("nvls");
  ScaleOptions asked = options();
  asked.message_bytes = {1e10};
  const json scale = scale_json(&document, catalog(), asked);
  ASSERT_EQ(scale["allreduce"].size(), 2);
  EXPECT_EQ(scale["allreduce"][0]["algorithm"], "measured");
  EXPECT_NEAR(scale["allreduce"][0]["seconds"].get<double>(), 0.04004, 1e-9);
  EXPECT_NEAR(scale["allreduce"][0]["busbw_gbps"].get<double>(), 1.75 * 10 / 0.04004, 1e-6);
  EXPECT_EQ(scale["allreduce"][1]["gpus"], 128);
  EXPECT_EQ(scale["fits"].size(), 1);
  EXPECT_TRUE(scale["estimate"].get<bool>());  // the network is the catalog's
}

TEST(ScaleJson, Training) {
  const Document document = one_node("nvls");
  ScaleOptions asked = options();
  asked.global_batch = 64;
  const json training = scale_json(&document, catalog(), asked)["training"];
  // 6 x 1.3e9 + 12 x 24 x 2048 x 2048 FLOPs a token; 8 x 2048 tokens at 700 x 0.55 TFLOPS
  const double compute = 8 * 2048 * (7.8e9 + 288.0 * 2048 * 2048) / (385e12);
  EXPECT_NEAR(training["weak"][0]["compute_seconds"].get<double>(), compute, 1e-9);
  // One 25 MiB bucket is exposed: 40 us + 104.8576 us (the last bucket holds what remains of 2.6 GB: 4.5 MB)
  const double remains = 2.6e9 - 99 * 25.0 * mib;
  EXPECT_NEAR(training["weak"][0]["exposed_seconds"].get<double>(), 40 * us + remains / 250e9, 1e-9);
  EXPECT_NEAR(training["weak"][0]["tokens_per_second"].get<double>(),
              8 * 8 * 2048 / (compute + 40 * us + remains / 250e9), 1e-3);
  EXPECT_EQ(training["strong"][0]["batch_per_gpu"], 8);
  EXPECT_EQ(training["strong"][1]["batch_per_gpu"], 0.5);
  EXPECT_TRUE(training["strong"][1]["step_seconds"].is_null());
  EXPECT_EQ(default_global_batch(8, 8, 128), 128);
  EXPECT_EQ(default_global_batch(8, 8, 32), 64);
}

// 300 TFLOPS with a quarter of the step spent waiting: 400 while it computes.
TEST(ScaleJson, AMeasuredStepGivesTheRate) {
  Document document = one_node("nvls");
  Measurement step = made::measured("training/1.3b", "training.tflops", "TFLOPS", made::six(300, 0));
  step.conditions["model"] = {{"parameters", 1.3e9}};
  const Measurement waits =
      made::measured("training/1.3b", "training.exposed_communication.share", "1", made::six(0.25, 0));
  Measurement small = made::measured("training/125m", "training.tflops", "TFLOPS", made::six(100, 0));
  small.conditions["model"] = {{"parameters", 125e6}};
  for (const Measurement& more : {small, step, waits}) document.measurements.push_back(more);
  const json training = scale_json(&document, catalog(), options())["training"];
  EXPECT_EQ(training["measured_step"], "training/1.3b");
  EXPECT_NEAR(training["gpu_tflops"].get<double>(), 400, 1e-9);
  EXPECT_TRUE(training["step_share"].is_null());
  ScaleOptions share = options();
  share.step_share = 0.5;
  const json asked = scale_json(&document, catalog(), share)["training"];
  EXPECT_NEAR(asked["gpu_tflops"].get<double>(), 350, 1e-9);
  EXPECT_TRUE(asked["measured_step"].is_null());
  ScaleOptions large = options();
  large.model = training_model("13B");
  EXPECT_THAT(scale_text(scale_json(&document, catalog(), large)), HasSubstr("far from 13B"));
}

TEST(ScaleJson, WhatIsVirtualIsRefused) {
  Document document = one_node();
  document.is_virtual = true;
  EXPECT_THAT(refusal([&] { scale_json(&document, catalog(), options()); }), HasSubstr("--allow-virtual"));
  ScaleOptions allowed = options();
  allowed.allow_virtual = true;
  const json scale = scale_json(&document, catalog(), allowed);
  EXPECT_TRUE(scale["virtual"].get<bool>());
  EXPECT_THAT(scale_text(scale), HasSubstr("VIRTUAL"));
}

TEST(ScaleJson, AnUnknownNetworkIsAskedFor) {
  Catalog made = catalog();
  made.platforms[0].network_gbps.reset();
  const Document document = one_node();
  EXPECT_THAT(refusal([&] { scale_json(&document, made, options()); }), HasSubstr("--network GBITS"));
  ScaleOptions unasked = options();
  unasked.nodes_asked = false;
  const json scale = scale_json(&document, made, unasked);
  EXPECT_EQ(scale["training"]["weak"].size(), 1);
  EXPECT_THAT(scale_text(scale), HasSubstr("--network GBITS"));
  ScaleOptions given = options();
  given.machine.network_gbit = 800;
  EXPECT_EQ(scale_json(&document, made, given)["training"]["weak"].size(), 2);
}

TEST(ScaleText, FitsAHundredColumnsAndMarksEstimates) {
  ScaleOptions asked = options();
  asked.machine.instance = "aws:p5.48xlarge";
  asked.model = training_model("13B");
  asked.nodes = {1, 8, 64, 65536};
  const std::string text = scale_text(scale_json(nullptr, catalog(), asked));
  EXPECT_THAT(text, HasSubstr("*estimate* ring inside a node"));
  EXPECT_THAT(text, HasSubstr("208 GB for 13B"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(display_width(text.substr(at, end - at)), 100) << text.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace claimcheck::scale

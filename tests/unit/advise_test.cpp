// Advice: memory, updates, the choice of nodes, money. Values by hand where the formula is given.
#include "harness/advise/advise.h"

#include <cmath>

#include "harness/advise/step.h"
#include "tests/unit/cost_support.h"
#include "tests/unit/scale_support.h"

namespace claimcheck::advise {
namespace {

using nlohmann::json;
using scale_test::refusal;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

Workload seven_billion() {
  Workload workload;
  workload.model = {"7B", 6.7e9, 32, 4096};
  workload.tokens = 1e12;
  return workload;
}

AdviseOptions options_for(const Workload& workload) {
  AdviseOptions options;
  options.workload = workload;
  options.cost.today = "2026-11-30";
  return options;
}

const Catalog& catalog() {
  static const Catalog loaded = load_catalog();
  return loaded;
}

json advice(const AdviseOptions& options) { return advise_json({}, catalog(), options); }

scale::Machine one_gpu() {
  scale::Machine machine;
  machine.fabric.ranks_per_node = 1;
  machine.fabric.ring_rate = 1e18;
  machine.memory_bytes = 80e9;
  return machine;
}

scale::Machine eight_gpus() {
  scale::Machine machine = one_gpu();
  machine.fabric.ranks_per_node = 8;
  machine.fabric.ring_rate = 300e9;
  machine.fabric.network_rate = 50e9;
  return machine;
}

TEST(AdviseNeed, OfSevenBillionParameters) {
  const Need need = training_need(seven_billion());
  EXPECT_DOUBLE_EQ(need.states, 107.2e9);
  EXPECT_DOUBLE_EQ(need.checkpoint, 93.8e9);
  EXPECT_DOUBLE_EQ(need.gathered, 1207959552.0);  // 72 x 4096^2
  EXPECT_DOUBLE_EQ(need.kept, 18253611008.0 + 786432000.0);
  EXPECT_DOUBLE_EQ(need.computed, 1073741824.0 + 570425344.0 + 786432000.0);
  const InferenceNeed inference = inference_need(seven_billion(), 2);
  EXPECT_DOUBLE_EQ(inference.weights, 13.4e9);
  EXPECT_DOUBLE_EQ(inference.keys_and_values, 4.0 * 4096 * 4096 * 32);
}

TEST(AdviseNeed, GpusThatHoldIt) {
  // 72 GB of use less 3.64 GB leave 68.36 GB: 107.2 GB need two; 21.6 - 3.64 = 17.96 GB: six.
  EXPECT_EQ(gpus_for(107.2e9, 3.64e9, 80e9), 2);
  EXPECT_EQ(gpus_for(107.2e9, 3.64e9, 24e9), 6);
  EXPECT_EQ(gpus_for(1e9, 3.64e9, 80e9), 1);
  EXPECT_EQ(gpus_for(1e9, 73e9, 80e9), std::nullopt);
  // The guides' rule: 100 billion parameters take 1.6 TB, at least 20 GPUs of 80 GB were it all of use.
  EXPECT_EQ(gpus_for(1.6e12, 0, 80e9 / usable_share), 20);
}

TEST(AdviseNeed, ShapeOfTheFamilyOfGpt3) {
  const scale::TrainingModel model = with_shape({"175B", 175e9, 0, 0});
  EXPECT_EQ(model.layers, 96);  // (175e9 / (12 x 128^2))^(1/3) = 96.2
  EXPECT_NEAR(model.width, 12288, 128);
  EXPECT_EQ(with_shape({"x", 1e9, 3, 100}).layers, 3);
  EXPECT_GE(with_shape({"tiny", 1e3, 0, 0}).width, 1);
}

TEST(AdviseUpdate, OneGpuComputesAndWaitsForNobody) {
  Workload workload;
  workload.model = {"1B", 1e9, 16, 2304};
  workload.sequence = 2048;
  workload.batch_tokens = 8192;
  const auto update = fastest_update(workload, one_gpu(), 400, 1);
  ASSERT_TRUE(update);
  EXPECT_FALSE(update->sharded);
  EXPECT_FALSE(update->computed_again);
  EXPECT_EQ(update->micro_batches, 1);
  EXPECT_NEAR(update->seconds, 8192 * (6e9 + 12.0 * 16 * 2304 * 2048) / 400e12, 1e-12);
  EXPECT_DOUBLE_EQ(update->efficiency, 1);
}

TEST(AdviseUpdate, MicroBatchesAreAsLargeAsMemoryLets) {
  Workload workload;
  workload.model = {"1B", 1e9, 16, 2304};
  workload.sequence = 2048;
  workload.batch_tokens = 2048 * 64;
  // 72 - 16 = 56 GB of room, 2.960 GB a sequence: 18 fit, so 64 take four turns of 16.
  const auto update = fastest_update(workload, one_gpu(), 400, 1);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->micro_batches, 4);
  EXPECT_DOUBLE_EQ(update->micro_sequences, 16);
  EXPECT_DOUBLE_EQ(update->efficiency, 1);
}

TEST(AdviseUpdate, StatesThatFitNowhereAreSharded) {
  const auto one_node = fastest_update(seven_billion(), eight_gpus(), 400, 1);
  ASSERT_TRUE(one_node);
  EXPECT_TRUE(one_node->sharded);
  EXPECT_FALSE(fastest_update(seven_billion(), one_gpu(), 400, 1));  // 107 GB on one GPU of 80
}

TEST(AdviseUpdate, WhatSlowLinksDoNotHideIsSeen) {
  Workload workload = seven_billion();
  workload.batch_tokens = 8 * 4096;  // one sequence a GPU: little arithmetic
  scale::Machine machine = eight_gpus();
  machine.fabric.ring_rate = 5e9;
  machine.fabric.inside = scale::Link::pcie;
  const auto update = fastest_update(workload, machine, 400, 1);
  ASSERT_TRUE(update);
  const double layer = 2 * 6.7e9 / 32;
  const double moved = 1.5 * 32 * scale::best(machine.fabric, 1, layer).seconds;
  const double compute = 4096 * scale::flops_per_token(workload.model, 4096) / 400e12;
  EXPECT_GT(moved, compute);
  EXPECT_NEAR(update->exposed_seconds, moved - compute, 1e-9);
  EXPECT_NEAR(update->seconds, moved, 1e-9);
  EXPECT_NEAR(update->efficiency, compute / moved, 1e-9);
}

TEST(AdviseUpdate, AGpuWithoutASequenceIsIdle) {
  Workload workload = seven_billion();
  workload.batch_tokens = 7 * 4096;
  EXPECT_FALSE(fastest_update(workload, eight_gpus(), 400, 1));
}

TEST(Advise, TheFewestNodesThatKeepTheDeadline) {
  AdviseOptions options = options_for(seven_billion());
  options.instances = {"aws:p5.48xlarge"};
  options.cost.term = "on_demand";
  options.deadline_seconds = 30 * 86400.0;
  const json answer = advice(options);
  ASSERT_EQ(answer["rows"].size(), 1);
  const json& row = answer["rows"][0];
  EXPECT_LE(row["seconds"].get<double>(), *options.deadline_seconds);
  options.most_nodes = row["nodes"].get<int>() - 1;
  EXPECT_TRUE(advice(options)["rows"].empty());
  // Money: nodes x hours x price.
  const double hours = row["seconds"].get<double>() / 3600;
  EXPECT_NEAR(row["money"].get<double>(), row["nodes"].get<int>() * hours * row["per_hour"].get<double>(), 1e-6);
  EXPECT_NEAR(row["seconds"].get<double>(),
              1e12 / row["tokens_per_second"].get<double>() / row["goodput"]["share"].get<double>(), 1e-3);
}

TEST(Advise, ReservedTermsArePaidWhole) {
  AdviseOptions options = options_for(seven_billion());
  options.instances = {"gcp:a3-highgpu-8g"};
  options.cost.term = "reserved_1y";
  options.deadline_seconds = 60 * 86400.0;
  const json row = advice(options)["rows"][0];
  EXPECT_EQ(row["paid_hours"], 8760);
  EXPECT_NEAR(row["money"].get<double>(), row["nodes"].get<int>() * 8760 * row["per_hour"].get<double>(), 1e-6);
}

TEST(Advise, GoodputByYoung) {
  AdviseOptions options = options_for(seven_billion());
  options.instances = {"aws:p5.48xlarge"};
  options.cost.term = "spot";
  options.cost.seconds_between_interruptions = 12 * 3600.0;
  options.deadline_seconds = 60 * 86400.0;
  const json row = advice(options)["rows"][0];
  const int nodes = row["nodes"];
  const double between = 1 / (nodes / (12 * 3600.0) + nodes * 8 / (16384.0 * 54 * 24 / 419 * 3600));
  const double save = 14 * 6.7e9 / (2e9 * nodes);
  const double interval = std::sqrt(2 * save * between);
  EXPECT_NEAR(row["goodput"]["interrupted_every_seconds"].get<double>(), between, 1e-6 * between);
  EXPECT_NEAR(row["goodput"]["save_every_seconds"].get<double>(), interval, 1e-6 * interval);
  EXPECT_NEAR(row["goodput"]["share"].get<double>(), 1 - save / interval - (interval / 2 + save + 600) / between, 1e-9);
  EXPECT_EQ(row["goodput"]["spot_counted"], true);
}

TEST(Advise, InterruptionsFasterThanSavesLeaveNothing) {
  AdviseOptions options = options_for(seven_billion());
  options.instances = {"aws:p5.48xlarge"};
  options.cost.term = "spot";
  options.cost.seconds_between_interruptions = 1;
  const json answer = advice(options);
  EXPECT_TRUE(answer["rows"].empty());
  EXPECT_THAT(answer["left_out"][0]["reason"].get<std::string>(), HasSubstr("interruptions come before"));
}

// A100-hours of Llama 2 (Touvron et al. 2023, table 2), half of them: docs/advise.md shows these rows.
TEST(Advise, AgainstPublishedRuns) {
  const struct {
    double parameters;
    int layers, width;
    double published, error;
  } runs[] = {{6.74e9, 32, 4096, 92160, -0.046}, {13e9, 40, 5120, 184320, -0.103}, {70e9, 80, 8192, 860160, 0.323}};
  for (const auto& run : runs) {
    Workload workload;
    workload.model = {"llama", run.parameters, run.layers, run.width};
    workload.tokens = 1e12;
    AdviseOptions options = options_for(workload);
    options.instances = {"azure:Standard_ND96amsr_A100_v4"};
    options.deadline_seconds = 60 * 86400.0;
    const json row = advice(options)["rows"][0];
    const double hours = row["gpus"].get<int>() * row["seconds"].get<double>() / 3600;
    EXPECT_NEAR(hours / run.published - 1, run.error, 0.0006) << run.parameters;
  }
}

TEST(Advise, WhatCannotWorkSaysWhy) {
  Workload workload = seven_billion();
  workload.sequence = 1e6;
  workload.batch_tokens = 1e9;
  AdviseOptions options = options_for(workload);
  options.instances = {"aws:p5.48xlarge"};
  EXPECT_THAT(advice(options)["left_out"][0]["reason"].get<std::string>(), HasSubstr("tensor parallelism"));
  workload = seven_billion();
  workload.batch_tokens = 4096;
  options.workload = workload;
  EXPECT_THAT(advice(options)["left_out"][0]["reason"].get<std::string>(), HasSubstr("less than one each"));
  options.workload = seven_billion();
  options.deadline_seconds = 3600;
  EXPECT_THAT(advice(options)["left_out"][0]["reason"].get<std::string>(),
              AllOf(HasSubstr("all that the batch feeds"), HasSubstr("days")));
  options.instances = {"aws:p3.2xlarge"};
  EXPECT_THAT(advice(options)["left_out"][0]["reason"].get<std::string>(), HasSubstr("network is not known"));
}

TEST(Advise, RowsAreRankedByMoneyWithinTheBudget) {
  AdviseOptions options = options_for(seven_billion());
  options.deadline_seconds = 60 * 86400.0;
  options.budget = 100000;
  const json answer = advice(options);
  ASSERT_GT(answer["rows"].size(), 5);
  bool over = false;
  double last = 0;
  for (const json& row : answer["rows"]) {
    if (!row["converted"].get<bool>()) continue;
    EXPECT_EQ(row["within_budget"], row["money"].get<double>() <= 100000);
    if (row["within_budget"] == false && !over) {
      over = true;
      last = 0;
    }
    EXPECT_EQ(row["within_budget"], !over);
    EXPECT_GE(row["money"].get<double>(), last);
    last = row["money"];
  }
  EXPECT_EQ(outcome(answer), ExitCode::ok);
  options.budget = 1;
  EXPECT_EQ(outcome(advice(options)), ExitCode::not_met);
}

TEST(Advise, AnUnknownRateIsNoAnswer) {
  AdviseOptions options = options_for(seven_billion());
  options.instances = {"aws:p5.48xlarge"};
  options.cost.currency = "EUR";
  options.budget = 1e12;
  const json answer = advice(options);
  EXPECT_EQ(outcome(answer), ExitCode::incomplete);
  EXPECT_THAT(advise_text(answer), AllOf(HasSubstr("rate is missing"), HasSubstr("--fx")));
}

TEST(Advise, NoMachineIsNoYes) {
  AdviseOptions options = options_for(seven_billion());
  options.workload.model.parameters = 1e13;
  options.workload.model.layers = 0;
  const json answer = advice(options);
  EXPECT_TRUE(answer["rows"].empty());
  EXPECT_EQ(outcome(answer), ExitCode::not_met);
  for (const json& one : answer["rules"]) EXPECT_NE(one["verdict"], "holds") << one;
}

json rule(const json& answer, const std::string& claim) {
  for (const json& one : answer["rules"])
    if (one["claims"].front() == claim) return one;
  return nullptr;
}

TEST(Advise, RulesOfThumb) {
  Workload workload;
  workload.model = {"100B", 100e9, 0, 0};
  workload.tokens = 1e12;
  const json large = advice(options_for(workload));
  EXPECT_EQ(rule(large, "G0-02")["verdict"], "contradicted");
  EXPECT_THAT(rule(large, "G0-02")["why"].get<std::string>(), HasSubstr("1600 GB"));
  EXPECT_EQ(rule(large, "G0-35"), nullptr);  // says nothing about this model
  workload.model = {"350M", 350e6, 24, 1024};
  workload.tokens = 1e10;
  const json small = advice(options_for(workload));
  EXPECT_NE(rule(small, "G0-35"), nullptr);
  EXPECT_EQ(rule(small, "G0-02"), nullptr);
}

TEST(Advise, RefusesWhatItDoesNotKnow) {
  AdviseOptions options = options_for(seven_billion());
  options.data_type = "fp13";
  EXPECT_THAT(refusal([&] { advice(options); }), HasSubstr("expected one of bf16"));
  options.data_type = "";
  options.instances = {"aws:p5.48xlarg"};
  EXPECT_THAT(refusal([&] { advice(options); }), HasSubstr("aws:p5.48xlarge"));
}

TEST(Advise, TheTextIsNotWiderThanItsScreen) {
  AdviseOptions options = options_for(seven_billion());
  options.deadline_seconds = 60 * 86400.0;
  options.budget = 1e6;
  const std::string text = advise_text(advice(options));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(display_width(text.substr(at, end - at)), 100) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_THAT(text, HasSubstr("R: activations computed again"));
}

TEST(Advise, AMeasuredMachineSpeaksForItself) {
  Document document = cost_test::p5_measured();
  document.platform["catalog_id"] = "aws:p5.48xlarge";
  AdviseOptions options = options_for(seven_billion());
  options.instances = {"aws:p5.48xlarge"};
  options.cost.price = Quote{2.0, "USD", PricedUnit::gpu_hour};
  const json answer = advise_json({{"this result", &document}}, catalog(), options);
  const auto row = std::find_if(answer["rows"].begin(), answer["rows"].end(),
                                [](const json& one) { return one["label"] == "this result"; });
  ASSERT_NE(row, answer["rows"].end());
  EXPECT_EQ((*row)["per_hour"], 16);
  EXPECT_NEAR((*row)["gpu_tflops"].get<double>(), 700 * 0.55, 1e-9);  // the slowest GPU's
  document.is_virtual = true;
  EXPECT_THAT(refusal([&] { advise_json({{"this result", &document}}, catalog(), options); }), HasSubstr("virtual"));
}

}  // namespace
}  // namespace claimcheck::advise

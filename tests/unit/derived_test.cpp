// MFU from the data sheet's peak, scaling as a verdict and in the report.
#include "harness/evidence/derived.h"

#include "harness/judge/scaling.h"
#include "harness/report/format.h"
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;
using testing::SizeIs;

Measurement step(double tflops) {
  Measurement measurement = measured("training/1.3b", "training.tflops", "TFLOPS", six(tflops));
  measurement.conditions = {{"data_type", "bf16"}, {"ranks", 8}};
  measurement.evidence = {{"loss_first", 9.0}};
  for (int i = 0; i < 8; ++i)
    measurement.devices.push_back({i, "NVIDIA H100 80GB HBM3", i == 2 ? tflops : tflops * 1.25});
  return measurement;
}

TEST(mfu, is_the_share_of_the_dense_peak) {
  Document document = made::gpu_node();
  document.measurements = {step(494.5), measured("training/1.3b", "training.step.seconds", "s", six(0.5))};
  derive(document, made::catalog());
  ASSERT_THAT(document.measurements, SizeIs(3));
  const Measurement& mfu = document.measurements[1];
  EXPECT_EQ(mfu.metric, "training.mfu");
  EXPECT_EQ(mfu.id, "training/1.3b");
  EXPECT_EQ(mfu.unit, "1");
  EXPECT_NEAR(*mfu.value, 0.5, 1e-12) << "494.5 of 989";
  EXPECT_NEAR(mfu.statistics->min, 0.4995, 1e-12);
  EXPECT_NEAR(*mfu.devices[0].value, 0.625, 1e-12);
  EXPECT_EQ(mfu.evidence["derived"]["peak_tflops"], 989);
  EXPECT_FALSE(mfu.evidence.contains("loss_first"));
  EXPECT_TRUE(is_derived(mfu));
  derive(document, made::catalog());
  EXPECT_THAT(document.measurements, SizeIs(3)) << "doing it again replaces it";
}

TEST(mfu, can_be_claimed_and_is_in_the_report) {
  Document document = made::gpu_node();
  document.measurements = {step(494.5)};
  derive(document, made::catalog());
  EXPECT_EQ(verdict_on(document, "training.mfu>=0.4").kind, VerdictKind::met);
  EXPECT_EQ(verdict_on(document, "training.mfu>=55 %").kind, VerdictKind::not_met);
  const std::string text = render_text(document, {});
  EXPECT_THAT(text, HasSubstr("training.mfu, 1.3b"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
  EXPECT_THAT(text, HasSubstr("= training.tflops / 989 TFLOPS, the data sheet's dense bf16 peak of the NVIDIA H100"));
}

TEST(mfu, needs_a_peak) {
  Document document = made::gpu_node();
  document.measurements = {step(40)};
  document.measurements[0].conditions["data_type"] = "fp32";  // the made catalog has none
  derive(document, made::catalog());
  EXPECT_THAT(document.measurements, SizeIs(1));
  Document host = with({on_cpu(measured("training/tiny", "training.tflops", "TFLOPS", six(0.1)))});
  host.measurements[0].conditions["data_type"] = "bf16";
  derive(host, made::catalog());
  EXPECT_THAT(host.measurements, SizeIs(1));
  EXPECT_EQ(verdict_on(host, "training.mfu>=0.4").kind, VerdictKind::not_measured);
}

void add_scaling(Document& document, int ranks, double efficiency, int slowest = 0, double times = 1) {
  const std::string id = "scaling.gemm/ranks:" + std::to_string(ranks);
  Measurement total = measured(id, "scaling.gemm.tflops", "TFLOPS", six(ranks * 790 * efficiency));
  Measurement share = measured(id, "scaling.gemm.efficiency", "1", six(efficiency));
  for (Measurement* one : {&total, &share}) {
    one->conditions["ranks"] = ranks;
    one->evidence["slowest_rank"] = {{"rank", slowest}, {"times_fastest", times}, {"name", "NVIDIA H100 80GB HBM3"}};
    document.measurements.push_back(*one);
  }
}

TEST(scaling, all_gpus_at_once_are_judged) {
  Document document = made::gpu_node();
  EXPECT_THAT(scaling_verdicts(document), IsEmpty());
  add_scaling(document, 1, 1);
  EXPECT_THAT(scaling_verdicts(document), IsEmpty()) << "one alone is compared with itself";
  add_scaling(document, 2, 0.9);
  add_scaling(document, 8, 0.97);
  auto verdicts = scaling_verdicts(document);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].kind, VerdictKind::met) << "the most ranks decide; 5 % are healthy";
  EXPECT_EQ(verdicts[0].measurement_id, "scaling.gemm/ranks:8");
  EXPECT_EQ(verdicts[0].claim.definition["comparison"], "typical");
}

TEST(scaling, the_slowest_is_named) {
  Document document = made::gpu_node();
  add_scaling(document, 4, 1);
  add_scaling(document, 8, 0.7, 3, 1.43);
  const auto verdicts = scaling_verdicts(document);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].kind, VerdictKind::not_met);
  EXPECT_EQ(verdicts[0].reason, "8 GPUs at once keep 70.0 % of 8 times one alone; healthy ones at least 95.0 %");
  ASSERT_FALSE(verdicts[0].diagnosis.empty());
  EXPECT_THAT(verdicts[0].diagnosis[0],
              HasSubstr("GPU 3 held the others back: it took 1.43 times as long as the fastest. -> "));
  const std::string text = render_text(document, {});
  EXPECT_THAT(text, HasSubstr("SCALING\n"));
  EXPECT_THAT(text, testing::ContainsRegex("gemm +4 +3160 TFLOPS +100 % "));
  EXPECT_THAT(text, testing::ContainsRegex(" +8 +4424 TFLOPS +70.0 % +69.9 \\.\\. 70.1 % +0.1 %"));
  EXPECT_THAT(text, HasSubstr("slowest at 8 ranks: rank 3, 1.43 times as long as the fastest"));
}

TEST(scaling, cores_of_a_cpu_share_their_memory) {
  Document document = made::cpu_machine();
  add_scaling(document, 2, 0.6);
  EXPECT_THAT(scaling_verdicts(document), IsEmpty());
}

}  // namespace
}  // namespace claimcheck

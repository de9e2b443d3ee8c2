// Verdicts on hand-made documents: every kind, its sentence, and the exit code.
#include "tests/unit/judge_support.h"

namespace claimcheck {
namespace {

using namespace judge_test;

TEST(Decide, TheIntervalAgainstTheLine) {
  const Line at_least{">=", false, 100, 0};
  const Line above{">=", true, 100, 0};
  const Line at_most{"<=", false, 100, 0};
  const Line below{"<=", true, 100, 0};
  const Line equal{"==", false, 100, 0.05};
  const auto at = [](const Line& line, double low, double high) {
    return decide(line, {(low + high) / 2, std::pair{low, high}, false});
  };
  EXPECT_EQ(at(at_least, 100, 110), VerdictKind::met);
  EXPECT_EQ(at(at_least, 99, 110), VerdictKind::inconclusive);
  EXPECT_EQ(at(at_least, 90, 99), VerdictKind::not_met);
  EXPECT_EQ(at(above, 100, 110), VerdictKind::inconclusive);
  EXPECT_EQ(at(above, 90, 100), VerdictKind::not_met);
  EXPECT_EQ(at(at_most, 90, 100), VerdictKind::met);
  EXPECT_EQ(at(at_most, 90, 101), VerdictKind::inconclusive);
  EXPECT_EQ(at(at_most, 101, 110), VerdictKind::not_met);
  EXPECT_EQ(at(below, 90, 100), VerdictKind::inconclusive);
  EXPECT_EQ(at(equal, 96, 104), VerdictKind::met);
  EXPECT_EQ(at(equal, 90, 104), VerdictKind::inconclusive);
  EXPECT_EQ(at(equal, 90, 110), VerdictKind::inconclusive) << "wider than the band, around it";
  EXPECT_EQ(at(equal, 106, 110), VerdictKind::not_met);
  EXPECT_EQ(decide(at_least, {99.9, std::nullopt, false}), VerdictKind::not_met);
  EXPECT_EQ(decide(at_least, {100, std::nullopt, false}), VerdictKind::met);
}

TEST(Judge, MetSaysThePercentOfTheClaim) {
  const Verdict verdict = verdict_on(with({triad(six(30))}), "memory.triad.gbps>=20");
  EXPECT_EQ(verdict.kind, VerdictKind::met);
  EXPECT_EQ(verdict.attained, 30);
  EXPECT_EQ(verdict.measurement_id, "memory.triad");
  EXPECT_EQ(verdict.reason, "30.0 GB/s is 150.0 % of the claimed 20 GB/s");
  ASSERT_TRUE(verdict.interval);
  EXPECT_NEAR(verdict.interval->first, 29.97, 1e-9);
  EXPECT_DOUBLE_EQ(share_of_claim(verdict).value(), 1.5);
}

TEST(Judge, NotMetSaysByHowMuch) {
  const Verdict verdict = verdict_on(with({triad(six(30))}), "memory.triad.gbps>=40");
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  EXPECT_EQ(verdict.reason, "falls short by 10.0 GB/s (25.0 %): 30.0 GB/s is 75.0 % of the claimed 40 GB/s");
}

TEST(Judge, FarShortStillSaysLessThanTheWhole) {
  const Verdict verdict = verdict_on(with({triad(six(12.5))}), "memory.triad.gbps>=1000000");
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("(99.9 %)"), HasSubstr("is 0.0013 % of the claimed 1000000 GB/s"),
                                    Not(HasSubstr("100"
                                                  ".0 %"))));
}

TEST(Judge, ALatencyExceedsItsClaim) {
  const Document document = with({on_cpu(measured("allreduce/bytes:8", "allreduce.latency.us", "us", six(25)))});
  EXPECT_EQ(verdict_on(document, "allreduce.latency.us<=30").kind, VerdictKind::met);
  const Verdict verdict = verdict_on(document, "allreduce.latency.us<=20");
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  EXPECT_EQ(verdict.reason, "exceeds it by 5.00 us (25.0 %): 25.0 us is 125.0 % of the claimed 20 us");
}

TEST(Judge, InconclusiveWhenTheIntervalStraddles) {
  const Verdict verdict = verdict_on(with({triad({38, 39, 40, 41, 42, 43})}), "memory.triad.gbps>=40");
  EXPECT_EQ(verdict.kind, VerdictKind::inconclusive);
  EXPECT_EQ(verdict.reason,
            "40.5 GB/s is 101.2 % of the claimed 40 GB/s, but the 95 % interval of the median (38.0 .. 43.0) straddles "
            "40.0 GB/s: more repetitions or a quieter machine would tell");
}

TEST(Judge, FewSamplesGiveTheirRange) {
  const Document document = with({triad({38, 40, 42})});
  const Verdict open = verdict_on(document, "memory.triad.gbps>=39");
  EXPECT_EQ(open.kind, VerdictKind::inconclusive);
  EXPECT_THAT(open.reason, HasSubstr("the range of its few repetitions (38.0 .. 42.0)"));
  EXPECT_FALSE(open.interval) << "a range is not a 95 % interval";
  EXPECT_EQ(verdict_on(document, "memory.triad.gbps>=37").kind, VerdictKind::met);
  EXPECT_EQ(verdict_on(with({triad({38})}), "memory.triad.gbps>=39").kind, VerdictKind::not_met);
}

TEST(Judge, TheBestSizeSpeaksForAMetricAndTheSmallestForALatency) {
  Measurement small = on_cpu(measured("gemm.fp32/n:512", "gemm.fp32.tflops", "TFLOPS", six(0.1)));
  Measurement large = on_cpu(measured("gemm.fp32/n:2048", "gemm.fp32.tflops", "TFLOPS", six(0.2)));
  const Document document =
      with({small, large, on_cpu(measured("allreduce/bytes:8", "allreduce.latency.us", "us", six(3))),
            on_cpu(measured("allreduce/bytes:64", "allreduce.latency.us", "us", six(4)))});
  EXPECT_EQ(headline(document, "gemm.fp32.tflops")->id, "gemm.fp32/n:2048");
  EXPECT_EQ(headline(document, "allreduce.latency.us")->id, "allreduce/bytes:8");
  EXPECT_EQ(headline(document, "gemm.fp64.tflops"), nullptr);
  const Verdict at_512 = verdict_on(document, "gemm.fp32.tflops[n=512]>=0.15");
  EXPECT_EQ(at_512.kind, VerdictKind::not_met);
  EXPECT_EQ(at_512.measurement_id, "gemm.fp32/n:512");
  const Verdict at_999 = verdict_on(document, "gemm.fp32.tflops[n=999]>=0.15");
  EXPECT_EQ(at_999.kind, VerdictKind::not_measured);
  EXPECT_EQ(at_999.reason, "measured under other conditions only: n = 2048 or 512");
}

TEST(Judge, ZerosEstimatesAndVirtualDevicesNeverSpeak) {
  Measurement zeros = triad(six(90));
  zeros.id = "memory.triad/zeros";
  zeros.conditions["pattern"] = "zeros";
  Measurement estimate = triad(six(91));
  estimate.estimate = true;
  Measurement unreal = triad(six(92));
  unreal.is_virtual = true;
  EXPECT_EQ(headline(with({zeros, estimate, unreal, triad(six(30))}), "memory.triad.gbps")->value, 30);
  EXPECT_THAT(verdict_on(with({zeros}), "memory.triad.gbps>=1").reason, HasSubstr("measured on zeros only"));
  EXPECT_THAT(verdict_on(with({estimate}), "memory.triad.gbps>=1").reason, HasSubstr("only an estimate"));
  EXPECT_THAT(verdict_on(with({unreal}), "memory.triad.gbps>=1").reason, HasSubstr("virtual device only"));
  for (const Measurement& measurement : {zeros, estimate, unreal}) {
    EXPECT_EQ(verdict_on(with({measurement}), "memory.triad.gbps>=1").kind, VerdictKind::not_measured);
  }
  Document all_virtual = with({unreal});
  all_virtual.is_virtual = true;
  const Verdict verdict = verdict_on(all_virtual, "memory.triad.gbps>=1");
  EXPECT_EQ(verdict.kind, VerdictKind::met);
  EXPECT_THAT(verdict.reason, HasSubstr("(on a virtual device)"));
}

TEST(Judge, NotMeasuredGivesTheReasonOfTheMeasurement) {
  Document document = with({unmeasured("gemm.bf16", "gemm.bf16.tflops", Outcome::unsupported, "no bf16 here"),
                            unmeasured("memory.copy", "memory.copy.gbps", Outcome::crashed, "killed by SIGKILL")});
  EXPECT_EQ(verdict_on(document, "gemm.bf16.tflops>=1").reason, "unsupported: no bf16 here");
  EXPECT_EQ(verdict_on(document, "memory.copy.gbps>=1").reason, "crashed: killed by SIGKILL");
  EXPECT_EQ(verdict_on(document, "memory.triad.gbps>=1").reason, "this result holds no measurement of it");
  document.run["plan"]["left_out"] = {{{"id", "memory.triad"}, {"reason", "does not fit the budget of 60 s"}},
                                      {{"id", "gemm.fp64/n:4096"}, {"reason", "does not fit"}}};
  EXPECT_EQ(verdict_on(document, "memory.triad.gbps>=1").reason, "left out: does not fit the budget of 60 s");
  EXPECT_EQ(verdict_on(document, "gemm.fp64.tflops>=1").reason, "left out: does not fit");
  document.run["status"] = "partial";
  EXPECT_EQ(verdict_on(document, "memory.read.gbps>=1").reason, "the run ended before it was measured");
}

TEST(Judge, AWrongAnswerHasNoNumber) {
  Measurement wrong = triad(six(30));
  wrong.status = Outcome::wrong_result;
  wrong.reason = "element 7 is 3, expected 4";
  const Verdict verdict = verdict_on(with({wrong}), "memory.triad.gbps>=1");
  EXPECT_EQ(verdict.kind, VerdictKind::not_measured);
  EXPECT_EQ(verdict.reason, "wrong_result: element 7 is 3, expected 4");
}

TEST(Judge, AboveWhatTheDeviceCanDoIsAMeasurementError) {
  Document document = with({on_cpu(measured("gemm.fp64/n:1024", "gemm.fp64.tflops", "TFLOPS", six(0.30)))});
  // 2 cores x 32 FLOP per clock x 3000 MHz = 0.192 TFLOPS
  document.system["devices"][0]["max_clock_mhz"] = 3000;
  EXPECT_NEAR(ceiling(document, document.measurements[0], {})->value, 0.192, 1e-12);
  const Verdict verdict = verdict_on(document, "gemm.fp64.tflops>=0.1");
  EXPECT_EQ(verdict.kind, VerdictKind::implausible);
  EXPECT_THAT(verdict.reason, HasSubstr("2 cores x 32 FLOP per clock x 3000 MHz = 0.192 TFLOPS"));
  // Also without a claim about it.
  const auto verdicts = all_verdicts(document, {}, {});
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].kind, VerdictKind::implausible);
  EXPECT_EQ(verdicts[0].claim.definition["comparison"], "physics");
  // Said once when a claim says it.
  EXPECT_EQ(all_verdicts(document, {parse_claim("gemm.fp64.tflops>=0.1")}, {}).size(), 1U);
}

TEST(Judge, CeilingsOfGpus) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(612, 741)};
  // From the data sheet: 989 x 1980 / 1830.
  EXPECT_NEAR(ceiling(document, document.measurements[0], made::catalog())->value, 989.0 * 1980 / 1830, 1e-9);
  // From the device itself: 132 x 4096 x 1.98 GHz = 1070.5.
  document.system["devices"][5].update(
      {{"compute_units", 132}, {"max_sm_clock_mhz", 1980}, {"compute_capability", "9.0"}});
  EXPECT_NEAR(ceiling(document, document.measurements[0], made::catalog())->value, 1070.53, 0.01);
  // 2 x 2619 MHz x 5120 bit: the H100's 3352 GB/s.
  Measurement read = measured("memory.read", "memory.read.gbps", "GB/s", six(3100));
  read.devices = {{5, "NVIDIA H100 80GB HBM3", 3100}};
  document.system["devices"][5].update({{"max_memory_clock_mhz", 2619}, {"memory_bus_bits", 5120}});
  EXPECT_NEAR(ceiling(document, read, made::catalog())->value, 3352.3, 0.1);
  read.devices = {{4, "NVIDIA H100 80GB HBM3", 3100}};
  EXPECT_NEAR(ceiling(document, read, made::catalog())->value, 3350 * 1.03, 1e-9) << "from the data sheet";
  EXPECT_FALSE(ceiling(document, read, {})) << "what nobody knows gives no ceiling";
}

TEST(Judge, SparseClaimsAreConvertedAndSaySo) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(1000, 1010)};
  const Catalog catalog = made::catalog();
  const Verdict verdict = verdict_on(document, "gemm.bf16.tflops[sparse=yes]>=1979", catalog);
  EXPECT_EQ(verdict.kind, VerdictKind::met);
  EXPECT_THAT(verdict.reason, HasSubstr("1979 TFLOPS sparse is 989.5 TFLOPS dense"));
  EXPECT_NEAR(share_of_claim(verdict).value(), 1000 / 989.5, 1e-12);
}

TEST(Judge, AnUnmarkedSparseClaimIsExplained) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(740, 750)};
  const Verdict verdict = verdict_on(document, "gemm.bf16.tflops>=1979", made::catalog());
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  ASSERT_FALSE(verdict.diagnosis.empty());
  EXPECT_THAT(verdict.diagnosis[0], AllOf(HasSubstr("1979 TFLOPS is the sparse figure of the NVIDIA H100 SXM5 80GB"),
                                          HasSubstr("'gemm.bf16.tflops>=989'"), HasSubstr("[sparse=yes]")));
}

TEST(Judge, AClaimOfTheNode) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(700, 750)};
  const Catalog catalog = made::catalog();
  const Verdict verdict = verdict_on(document, "gemm.bf16.tflops[per=node]>=5500", catalog);
  EXPECT_EQ(verdict.kind, VerdictKind::met);
  EXPECT_EQ(verdict.attained, 5600);
  EXPECT_THAT(verdict.reason, HasSubstr("8 devices, each counted as the slowest"));
  // 8 x 989, claimed of one device.
  const Verdict mixed = verdict_on(document, "gemm.bf16.tflops>=7912", catalog);
  ASSERT_FALSE(mixed.diagnosis.empty());
  EXPECT_THAT(mixed.diagnosis[0], HasSubstr("7912 TFLOPS is the figure of 8 devices together"));
}

TEST(Judge, TheSlowDeviceIsNamed) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(612, 741)};
  const Verdict verdict = verdict_on(document, "gemm.bf16.tflops>=700", made::catalog());
  EXPECT_EQ(verdict.kind, VerdictKind::not_met);
  ASSERT_FALSE(verdict.diagnosis.empty());
  EXPECT_THAT(verdict.diagnosis[0], HasSubstr("Device 5 is slow: 612 TFLOPS while the others reach 741 TFLOPS. -> "));
}

TEST(Judge, DiagnosesOfTheHost) {
  Measurement measurement = triad({10, 14, 20, 26, 30, 34});
  measurement.evidence = {{"cpu_steal_share", 0.12}, {"control_group_throttled_seconds", 1.5}};
  measurement.conditions["threads"] = 1;
  Document document = with({measurement});
  document.findings = {{"cpu.quota", "warning", "The control group allows 1 core.", "Start it without --cpus.", {}},
                       {"gpu.no_driver", "error", "No driver.", "Install it.", {}}};
  const Verdict verdict = verdict_on(document, "memory.triad.gbps>=40");
  EXPECT_THAT(verdict.diagnosis, ElementsAre(HasSubstr("CPU quota stopped the threads for 1.50 s"),
                                             HasSubstr("The hypervisor gave 12.0 % of the CPU time to others"),
                                             HasSubstr("1 of 2 cores worked."),
                                             HasSubstr("The repetitions differ widely: 10.0 to 34.0 GB/s"),
                                             "The control group allows 1 core. -> Start it without --cpus."));
  for (const std::string& why : verdict.diagnosis) EXPECT_THAT(why, HasSubstr(" -> "));
}

}  // namespace
}  // namespace claimcheck

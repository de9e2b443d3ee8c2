// Changes against noise, with numbers worked out by hand; what is refused; baselines of several runs.
#include "harness/compare/compare.h"

#include <gmock/gmock.h>

#include <cmath>

#include "harness/compare/comparable.h"
#include "harness/compare/words.h"
#include "tests/unit/made_results.h"

namespace claimcheck::compare {
namespace {

using made::measured;
using made::six;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Named with(std::vector<Measurement> measurements, Document document = made::gpu_node()) {
  document.measurements = std::move(measurements);
  return {"made.json", std::move(document)};
}

Measurement gemm(double value, double spread = 0.001) {
  return measured("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", six(value, spread));
}

Measurement latency(double value) { return measured("p2p.latency", "p2p.latency.us", "us", six(value)); }

Row only_row(const Measurement& before, const Measurement& after, const Options& options = {}) {
  const Comparison comparison = compare(with({before}), with({after}), options);
  EXPECT_EQ(comparison.rows.size(), 1u);
  return comparison.rows.front();
}

Options limit(double share) {
  Options options;
  options.max_regression = share;
  return options;
}

TEST(Change, IntervalOfTheRatioByHand) {
  // logs: ln(90/100) = -0.105361; down: hypot(ln(90/88), ln(102/100)) = hypot(0.0224729, 0.0198026) = 0.0299527;
  // up: hypot(ln(93/90), ln(100/97)) = hypot(0.0327898, 0.0304592) = 0.0447540.
  const Change change = change_between({100, Interval{97, 102}}, {90, Interval{88, 93}}, Better::higher);
  EXPECT_NEAR(change.relative, -0.1, 1e-12);
  EXPECT_NEAR(change.loss, 0.1, 1e-12);
  EXPECT_NEAR(change.relative_interval->first, std::exp(-0.105361 - 0.0299527) - 1, 1e-5);
  EXPECT_NEAR(change.relative_interval->second, std::exp(-0.105361 + 0.0447540) - 1, 1e-5);
  EXPECT_NEAR(change.loss_interval->first, -change.relative_interval->second, 1e-12);
  EXPECT_NEAR(change.loss_interval->second, -change.relative_interval->first, 1e-12);
  EXPECT_TRUE(change.apart);
}

TEST(Change, TouchingIntervalsAreNotApart) {
  EXPECT_FALSE(change_between({100, Interval{98, 102}}, {96, Interval{94, 98}}, Better::higher).apart);
  EXPECT_TRUE(change_between({100, Interval{98, 102}}, {96, Interval{94, 97.9}}, Better::higher).apart);
}

TEST(Change, LowerIsBetterTurnsTheLoss) {
  const Change change = change_between({10, Interval{9.9, 10.1}}, {11, Interval{10.9, 11.1}}, Better::lower);
  EXPECT_NEAR(change.relative, 0.1, 1e-12);
  EXPECT_NEAR(change.loss, 0.1, 1e-12);
  EXPECT_EQ(kind_of(change, 0.05), Kind::worse);
}

TEST(Change, NeedsBothNoiseAndEffect) {
  const Change small = change_between({100, Interval{99.9, 100.1}}, {99, Interval{98.9, 99.1}}, Better::higher);
  EXPECT_EQ(kind_of(small, 0.02), Kind::unchanged);  // certain, but 1 %
  EXPECT_EQ(kind_of(small, 0.005), Kind::worse);
  const Change noisy = change_between({100, Interval{90, 110}}, {92, Interval{85, 99}}, Better::higher);
  EXPECT_EQ(kind_of(noisy, 0.02), Kind::unclear);
  EXPECT_EQ(kind_of(change_between({100}, {92, Interval{91, 93}}, Better::higher), 0.02), Kind::unclear);
  EXPECT_EQ(kind_of(change_between({100}, {99.5}, Better::higher), 0.02), Kind::unchanged);
}

TEST(Change, DefaultMinimumIsHalfTheTolerance) {
  EXPECT_DOUBLE_EQ(default_min_effect(find_metric("gemm.bf16.tflops")), 0.025);
  EXPECT_DOUBLE_EQ(default_min_effect(find_metric("allreduce.busbw.gbps")), 0.05);
  EXPECT_DOUBLE_EQ(default_min_effect(find_metric("storage.write.gbps")), 0.1);
  EXPECT_DOUBLE_EQ(default_min_effect(nullptr), 0.02);
}

TEST(Compare, DirectionComesFromTheMetric) {
  EXPECT_EQ(only_row(gemm(700), gemm(650)).state, State::worse);
  EXPECT_EQ(only_row(gemm(650), gemm(700)).state, State::better);
  EXPECT_EQ(only_row(latency(10), latency(13)).state, State::worse);
  EXPECT_EQ(only_row(latency(13), latency(10)).state, State::better);
  EXPECT_EQ(only_row(gemm(700), gemm(695)).state, State::unchanged);
}

TEST(Compare, LimitNeedsTheWholeInterval) {
  // 6 % lower, +- 0.1 % each: certainly beyond 5 %.
  EXPECT_EQ(only_row(gemm(700), gemm(658), limit(0.05)).beyond, Beyond::yes);
  // 6 % lower, +- 2 % each: worse for sure, beyond 5 % perhaps.
  const Row noisy = only_row(gemm(700, 0.02), gemm(658, 0.02), limit(0.05));
  EXPECT_EQ(noisy.state, State::worse);
  EXPECT_EQ(noisy.beyond, Beyond::maybe);
  EXPECT_EQ(only_row(gemm(700), gemm(672), limit(0.05)).beyond, Beyond::no);  // 4 %
  // The limit cannot be finer than what counts: storage varies by 10 % from run to run.
  const auto disk = [](double value) { return measured("storage.write", "storage.write.gbps", "GB/s", six(value)); };
  EXPECT_EQ(only_row(disk(2), disk(1.84), limit(0.05)).beyond, Beyond::no);
  EXPECT_EQ(only_row(disk(2), disk(1.7), limit(0.05)).beyond, Beyond::yes);
}

TEST(Compare, ExitCodes) {
  const auto code = [](const Measurement& before, const Measurement& after, const Options& options) {
    return exit_code({compare(with({before}), with({after}), options)}, options);
  };
  EXPECT_EQ(code(gemm(700), gemm(600), {}), ExitCode::ok);
  EXPECT_EQ(code(gemm(700), gemm(600), limit(0.05)), ExitCode::not_met);
  EXPECT_EQ(code(gemm(700), gemm(700), limit(0.05)), ExitCode::ok);
  EXPECT_EQ(code(gemm(700, 0.02), gemm(658, 0.02), limit(0.05)), ExitCode::ok);
  Options strict = limit(0.05);
  strict.strict = true;
  EXPECT_EQ(code(gemm(700, 0.02), gemm(658, 0.02), strict), ExitCode::incomplete);
  EXPECT_EQ(code(gemm(700), gemm(700), strict), ExitCode::ok);
  // A wrong answer is no matter of percent.
  const Measurement wrong =
      made::unmeasured("gemm.bf16/n:8192", "gemm.bf16.tflops", Outcome::wrong_result, "element 3 is off");
  EXPECT_EQ(code(gemm(700), wrong, {}), ExitCode::not_met);
}

TEST(Compare, Outcomes) {
  const auto bad = [](Outcome outcome) {
    return made::unmeasured("gemm.bf16/n:8192", "gemm.bf16.tflops", outcome, "a reason");
  };
  for (const Outcome outcome :
       {Outcome::wrong_result, Outcome::crashed, Outcome::unsupported, Outcome::timed_out, Outcome::failed}) {
    EXPECT_EQ(only_row(gemm(700), bad(outcome)).state, State::lost);
    EXPECT_EQ(only_row(bad(outcome), gemm(700)).state, State::regained);
    EXPECT_EQ(only_row(bad(outcome), bad(outcome)).state, State::broken);
  }
  Measurement unstable = gemm(500);
  unstable.status = Outcome::unstable;
  unstable.reason = "repetitions vary by 30 %";
  EXPECT_EQ(only_row(gemm(700), unstable).state, State::unclear);
  EXPECT_EQ(only_row(unstable, bad(Outcome::crashed)).state, State::lost);
  EXPECT_THAT(only_row(gemm(700), bad(Outcome::crashed)).reason, HasSubstr("crashed: a reason"));
}

TEST(Compare, MissingSaysWhyAndAddedIsNoGain) {
  Named now = with({latency(10)});
  now.document.run["plan"] = {{"left_out", {{{"id", "gemm.bf16/n:8192"}, {"reason", "does not fit the budget"}}}}};
  const Comparison comparison = compare(with({gemm(700)}), now, {});
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_EQ(comparison.rows[0].state, State::missing);
  EXPECT_EQ(comparison.rows[0].reason, "not measured now: does not fit the budget");
  EXPECT_EQ(comparison.rows[1].state, State::added);
  EXPECT_FALSE(comparison.comparable());
  EXPECT_EQ(exit_code({comparison}, {}), ExitCode::incomplete);
}

TEST(Compare, CasesAreMatchedById) {
  Measurement small = gemm(400);
  small.id = "gemm.bf16/n:4096";
  const Comparison comparison = compare(with({small, gemm(700)}), with({gemm(700), small}), {});
  EXPECT_EQ(comparison.count(State::unchanged), 2u);
}

TEST(Compare, ASingleDeviceIsSeenThoughTheSlowestIsAnother) {
  const auto gemms = [](double third) {
    Measurement measurement = gemm(600);
    for (int i = 0; i < 4; ++i) {
      const double value = i == 0 ? 600 : i == 3 ? third : 700;
      measurement.devices.push_back({i, "H100", value, Interval{value * 0.999, value * 1.001}});
    }
    return measurement;
  };
  const Row row = only_row(gemms(700), gemms(630), limit(0.05));
  EXPECT_EQ(row.state, State::worse);
  EXPECT_EQ(row.beyond, Beyond::yes);
  EXPECT_THAT(row.reason, HasSubstr("single devices only"));
  ASSERT_EQ(row.devices.size(), 4u);
  EXPECT_EQ(row.devices[3].state, State::worse);
  EXPECT_EQ(row.devices[2].state, State::unchanged);
  EXPECT_EQ(devices_sentence(row), "device 3 -10.0 %");
  const Comparison comparison = compare(with({gemms(700)}), with({gemms(630)}), {});
  EXPECT_THAT(verdict_sentence(comparison, {}), HasSubstr("n 8192 on device 3 by -10.0 %"));
}

TEST(Compare, DevicesWithoutIntervalTakeThatOfTheMeasurement) {
  const Row row = only_row(made::gemm_bf16(690, 700), made::gemm_bf16(690, 640));
  EXPECT_EQ(row.devices[0].state, State::worse);
  EXPECT_TRUE(row.devices[0].change.relative_interval);
}

TEST(Compare, AGpuThatIsGoneIsSaid) {
  const Row row = only_row(made::gemm_bf16(690, 700, 8), made::gemm_bf16(690, 700, 7));
  EXPECT_EQ(row.devices[7].state, State::missing);
  EXPECT_EQ(devices_sentence(row), "device 7 has no value now");
}

TEST(Comparable, RefusesApplesWithOranges) {
  const auto differ = [](const char* key, const nlohmann::json& before, const nlohmann::json& after) {
    Measurement old_one = gemm(700);
    Measurement new_one = gemm(600);
    old_one.conditions[key] = before;
    new_one.conditions[key] = after;
    const Row row = only_row(old_one, new_one);
    return row.state == State::not_compared ? row.reason : std::string();
  };
  EXPECT_EQ(differ("method", "gemm/1", "gemm/2"), "not the same method: gemm/1, now gemm/2");
  EXPECT_EQ(differ("data_type", "bf16", "fp16"), "not the same data type: bf16, now fp16");
  EXPECT_EQ(differ("bytes", 8, 16), "not the same bytes: 8, now 16");
  EXPECT_EQ(differ("shape", {{"m", 1}, {"n", 2}}, {{"m", 1}, {"n", 3}}), "not the same shape: m 1, n 2, now m 1, n 3");
  EXPECT_EQ(differ("ranks", 8, 4), "not the same ranks: 8, now 4");
  EXPECT_EQ(differ("something_new", 1, 2), "not the same something new: 1, now 2");
  // How often it was done, and the machine's own state, are another matter.
  for (const char* effort : {"passes", "iterations", "repetitions", "min_time_seconds", "seed", "checked_share"}) {
    EXPECT_EQ(differ(effort, 8, 9), "") << effort;
  }
  EXPECT_EQ(differ("ecc", "off", "on"), "");
  EXPECT_EQ(differ("limited_by", nullptr, "memory"), "");
}

TEST(Comparable, AMethodKnownOnOneSideOnlyIsRefused) {
  Measurement old_one = gemm(700);
  old_one.conditions["method"] = "gemm/1";
  EXPECT_EQ(only_row(old_one, gemm(700)).state, State::not_compared);
  Measurement with_more = gemm(700);
  with_more.conditions["new_condition"] = 1;
  EXPECT_EQ(only_row(gemm(700), with_more).state, State::unchanged);
}

TEST(Comparable, FilesMayDifferByAFactorOfTwo) {
  const auto file = [](double bytes) {
    Measurement measurement = measured("storage.write", "storage.write.gbps", "GB/s", six(2));
    measurement.conditions["file"] = "preallocated";
    measurement.conditions["bytes"] = bytes;
    return measurement;
  };
  EXPECT_EQ(measurements_differ(file(1e9), file(1.9e9)), "");
  EXPECT_THAT(measurements_differ(file(1e9), file(2.1e9)), HasSubstr("not the same bytes"));
}

TEST(Comparable, CircumstancesAreNamedAsCauses) {
  Measurement old_one = gemm(700);
  Measurement new_one = gemm(600);
  old_one.conditions["ecc"] = "off";
  new_one.conditions["ecc"] = "on";
  EXPECT_THAT(only_row(old_one, new_one).causes, ElementsAre("ecc: off, now on"));
}

TEST(Comparable, OtherDevicesAndVirtualOnesAreRefusedAsAWhole) {
  Named other = with({gemm(700)});
  for (auto& device : other.document.system["devices"]) device["name"] = "NVIDIA A100-SXM4-80GB";
  const Comparison comparison = compare(with({gemm(700)}), other, limit(0.05));
  EXPECT_EQ(comparison.count(State::not_compared), 1u);
  EXPECT_EQ(verdict_sentence(comparison, {}),
            "Nothing was compared: the devices are others: 8 x NVIDIA H100 80GB HBM3, now 8 x NVIDIA A100-SXM4-80GB.");
  EXPECT_EQ(exit_code({comparison}, limit(0.05)), ExitCode::incomplete);
  Named made_up = with({gemm(700)});
  made_up.document.is_virtual = true;
  EXPECT_THAT(compare(with({gemm(700)}), made_up, {}).refused, HasSubstr("virtual"));
  EXPECT_EQ(compare(made_up, made_up, {}).refused, "");
}

TEST(Comparable, SurroundingsOnlyWhereBothAreKnown) {
  Named old_one = with({gemm(700)});
  Named new_one = with({gemm(700)});
  old_one.document.system["nvidia_driver"] = "550.54";
  new_one.document.system["nvidia_driver"] = "560.28";
  old_one.document.system["software"] = {{"libnccl2", "2.20"}, {"a~b/c", "1"}};
  new_one.document.system["software"] = {{"libnccl2", "2.21"}, {"a~b/c", "1"}};
  new_one.document.system["kernel"] = "6.1";
  old_one.document.system["devices"][2]["facts"] = {{"power_limit_w", 700}};
  new_one.document.system["devices"][2]["facts"] = {{"power_limit_w", 500}};
  EXPECT_THAT(surroundings_that_differ(old_one.document, new_one.document),
              ElementsAre("nvidia driver: 550.54, now 560.28", "power_limit_w of device 2: 700, now 500",
                          "libnccl2: 2.20, now 2.21"));
}

TEST(Baseline, SpansTheIntervalsOfItsRuns) {
  const Named baseline = baseline_of({with({gemm(690)}), with({gemm(710)}), with({gemm(702)})});
  const Measurement& measurement = baseline.document.measurements.front();
  EXPECT_DOUBLE_EQ(*measurement.value, 702);
  EXPECT_NEAR(measurement.statistics->ci95->first, 690 * 0.999, 1e-9);
  EXPECT_NEAR(measurement.statistics->ci95->second, 710 * 1.001, 1e-9);
  // 680 is outside of all of them by 1.4 %, and 3.1 % below the median; 692 was seen before.
  EXPECT_EQ(compare(baseline, with({gemm(680)}), {}).rows[0].state, State::worse);
  EXPECT_EQ(compare(baseline, with({gemm(692)}), {}).rows[0].state, State::unchanged);
}

TEST(Baseline, TakesWhatTheLatestLacks) {
  const Measurement crashed = made::unmeasured("gemm.bf16/n:8192", "gemm.bf16.tflops", Outcome::crashed, "SIGSEGV");
  const Named baseline = baseline_of({with({gemm(700), latency(10)}), with({crashed})});
  EXPECT_EQ(baseline.document.measurements.size(), 2u);
  EXPECT_TRUE(baseline.document.measurements.front().usable());
  EXPECT_THAT(baseline.name, HasSubstr("2 results up to"));
}

TEST(Baseline, OfOtherMachinesIsRefused) {
  Named other = with({gemm(700)}, made::cpu_machine());
  EXPECT_THROW(baseline_of({other, with({gemm(700)})}), UserError);
}

TEST(Words, Verdicts) {
  const Comparison worse = compare(with({gemm(700), latency(10)}), with({gemm(650), latency(10)}), limit(0.05));
  EXPECT_EQ(
      verdict_sentence(worse, limit(0.05)),
      "1 of 2 became worse beyond noise, most of all gemm.bf16.tflops, n 8192 by -7.1 %. 1 is beyond the limit of "
      "5.0 %.");
  const Comparison same = compare(with({gemm(700), latency(10)}), with({gemm(700), latency(8)}), {});
  EXPECT_EQ(verdict_sentence(same, {}), "None of 2 figures became worse beyond noise, 1 better.");
  EXPECT_EQ(change_text(2.2), "x 3.20");
  EXPECT_EQ(change_text(-0.06), "-6.0 %");
}

TEST(Words, MarkdownHoldsNothingOfTheFileAsMarkup) {
  Measurement wrong = made::unmeasured("gemm.bf16/n:8192", "gemm.bf16.tflops", Outcome::failed,
                                       "<img src=x> @everyone [a](http://b) | `c`");
  Answer answer{"old.json", {compare(with({gemm(700)}), with({wrong}), {})}, false};
  const std::string text = answer_markdown(answer, {});
  EXPECT_THAT(text, HasSubstr("No right answer any more"));
  for (const char* bad : {" <img", "@everyone", " [a](", " `c`"}) EXPECT_EQ(text.find(bad), std::string::npos) << bad;
}

TEST(Only, FamilyCaseAndMetric) {
  const Measurement measurement = gemm(1);
  for (const char* pattern : {"gemm", "gemm.bf16", "gemm.bf16/n:8192", "gemm.*", "*.tflops", "gemm.bf16.tflops"}) {
    EXPECT_TRUE(is_asked(measurement, {pattern})) << pattern;
  }
  EXPECT_FALSE(is_asked(measurement, {"gem"}));
  EXPECT_FALSE(is_asked(measurement, {"memory", "gemm.fp8"}));
}

}  // namespace
}  // namespace claimcheck::compare

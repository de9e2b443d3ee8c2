// Interruptions of spot machines: what measured checkpoints leave of paid time, computed by hand, and what it does to a
// price.
#include "harness/cost/goodput.h"

#include "tests/unit/cost_support.h"

namespace claimcheck {
namespace {

using namespace cost_test;

Measurement checkpoint(const std::string& what, const std::string& preset, double bytes, double seconds,
                       const std::string& location = "scratch") {
  Measurement measurement = measured("checkpoint." + what + (location == "scratch" ? "/" : "/dir/") + preset,
                                     "checkpoint." + what + ".seconds", "s", six(seconds));
  measurement.conditions["bytes"] = bytes;
  measurement.conditions["preset"] = preset;
  measurement.conditions["location"] = location;
  return measurement;
}

TEST(Goodput, IsThatOfTheMetricsPage) {
  CheckpointTimes times;
  times.save_seconds = 60;
  const Goodput without = goodput(times, 4 * 3600);
  EXPECT_NEAR(without.interval_seconds, 1314.5, 0.1);  // sqrt(2 x 60 x 14400)
  EXPECT_NEAR(without.share, 0.9087, 1e-4);            // 1 - 60/1314.5 - 1314.5/28800
  times.restore_seconds = 144;                         // a hundredth of the time between interruptions
  EXPECT_NEAR(goodput(times, 4 * 3600).share, 0.8987, 1e-4);
  times.save_seconds = 1e6;
  EXPECT_EQ(goodput(times, 60).share, 0) << "a machine that never gets to work";
}

TEST(Goodput, TheLargestModelSpeaksAndTheGivenPlaceBeforeScratch) {
  Document document;
  EXPECT_FALSE(checkpoint_times(document));
  document.measurements = {checkpoint("save", "125m", 1.75e9, 1), checkpoint("save", "1.3b", 18.2e9, 9),
                           checkpoint("restore", "1.3b", 18.2e9, 7), checkpoint("restore", "125m", 1.75e9, 0.5)};
  auto times = checkpoint_times(document);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->save_seconds, 9);
  EXPECT_EQ(times->restore_seconds, 7);
  EXPECT_EQ(times->preset, "1.3b");
  EXPECT_FALSE(times->given_place);
  document.measurements.push_back(checkpoint("save", "125m", 1.75e9, 3, "checkpoint_dir"));
  times = checkpoint_times(document);
  EXPECT_EQ(times->save_seconds, 3);
  EXPECT_TRUE(times->given_place);
  EXPECT_FALSE(times->restore_seconds) << "a restore from elsewhere says nothing of it";
}

TEST(Goodput, AFailedSaveDoesNotSpeak) {
  Document document;
  document.measurements = {
      made::unmeasured("checkpoint.save/125m", "checkpoint.save.seconds", Outcome::failed, "full")};
  EXPECT_FALSE(checkpoint_times(document));
}

TEST(Goodput, SpotRowsOfAResultPayForInterruptions) {
  Document document = p5_measured();
  CostOptions options = on_a_day();
  options.term = "spot";
  options.price = Quote{50.4, "USD", PricedUnit::node_hour};
  // 700 x 8 x 0.9 = 5040 TFLOPS: 50.4 / (5040 x 0.0036) = 2.7778 an EFLOP.
  EXPECT_NEAR((*row_of(cost_of(document, options), "this machine", "spot"))["per_eflop"].get<double>(), 2.7778, 1e-4);
  document.measurements.push_back(checkpoint("save", "1.3b", 18.2e9, 60, "checkpoint_dir"));
  json cost = cost_of(document, options);
  EXPECT_NEAR((*row_of(cost, "this machine", "spot"))["per_eflop"].get<double>(), 2.7778, 1e-4) << "nothing is assumed";
  EXPECT_EQ(cost["results"][0]["checkpoint"]["save_seconds"], 60);
  options.seconds_between_interruptions = 4 * 3600;
  cost = cost_of(document, options);
  const json& row = *row_of(cost, "this machine", "spot");
  EXPECT_NEAR(row["per_eflop"].get<double>(), 2.7778 / 0.90871, 1e-3);
  EXPECT_NEAR(row["goodput"]["share"].get<double>(), 0.90871, 1e-5);
  EXPECT_THAT(row["basis"].get<std::string>(),
              HasSubstr("(goodput: an interruption every 4 h, 60 s to save 1.3b, a save every 1315 s)"));
  options.term = "on_demand";
  EXPECT_FALSE(row_of(cost_of(document, options), "this machine", "on_demand")->contains("goodput"));
}

}  // namespace
}  // namespace claimcheck

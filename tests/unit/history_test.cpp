// Steps, drift and spread of made series, with p values worked out by hand; grouping of results.
#include "harness/history/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/made_results.h"

namespace claimcheck::history {
namespace {

using testing::HasSubstr;

std::vector<Point> points_of(const std::vector<double>& values) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    points.push_back({fmt::format("2026-11-{:02}T03:00:00Z", i + 1),
                      static_cast<double>(i),
                      {value, compare::Interval{value * 0.999, value * 1.001}},
                      i});
  }
  return points;
}

// Ten nights about a level, off by at most 0.4 %, in no order.
std::vector<double> nights(double level, std::size_t count = 10) {
  static constexpr double off[] = {0.001, -0.003, 0.002, 0.004, -0.001, -0.004, 0.003, 0.0, -0.002, 0.001};
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(level * (1 + off[i % 10]));
  return values;
}

std::vector<double> joined(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(MannWhitney, ExactWhereTheSidesDoNotOverlap) {
  EXPECT_NEAR(mann_whitney_p({1, 2, 3}, {4, 5, 6}), 2.0 / 20, 1e-12);            // 6 over 3
  EXPECT_NEAR(mann_whitney_p({9, 8, 7, 6}, {1, 2, 3, 4, 5}), 2.0 / 126, 1e-12);  // 9 over 4
}

TEST(MannWhitney, NormalOtherwise) {
  // U = 1 of 16, mean 8, deviation sqrt(4 * 4 * 9 / 12) = 3.4641; z = (7 - 0.5) / 3.4641 = 1.8764; p = 0.0606.
  EXPECT_NEAR(mann_whitney_p({1, 2, 3, 5}, {4, 6, 7, 8}), 0.0606, 1e-4);
}

TEST(Course, SteadyNightsHaveNoStep) {
  const Course course = course_of(points_of(nights(700, 30)), Better::higher, 0.025);
  EXPECT_EQ(course.trend, Trend::steady);
  EXPECT_TRUE(course.steps.empty());
  // Median of the deviations {1,3,2,4,1,4,3,0,2,1} x 0.1 % about 0.05 % (to 0.01 %): 0.2 % x 1.4826.
  EXPECT_NEAR(course.spread, 0.003, 0.0005);
}

TEST(Course, AStepDownIsFoundWhereItIs) {
  const Course course = course_of(points_of(joined(nights(700), nights(658, 5))), Better::higher, 0.025);
  EXPECT_EQ(course.trend, Trend::stepped);
  ASSERT_EQ(course.steps.size(), 1u);
  EXPECT_EQ(course.steps[0].at, 10u);
  EXPECT_NEAR(course.steps[0].change.relative, -0.06, 0.002);
  EXPECT_NEAR(course.steps[0].change.loss, 0.06, 0.002);
  EXPECT_LT(course.spread, 0.005);  // about each level, not about both
}

TEST(Course, DirectionOfTheMetric) {
  const Course course = course_of(points_of(joined(nights(10), nights(13))), Better::lower, 0.1);
  ASSERT_EQ(course.steps.size(), 1u);
  EXPECT_NEAR(course.steps[0].change.loss, 0.3, 0.01);
}

TEST(Course, OneNightOffIsNoStep) {
  std::vector<double> values = nights(700, 20);
  values[7] = 400;
  EXPECT_EQ(course_of(points_of(values), Better::higher, 0.025).trend, Trend::steady);
  // Nor does it hide one.
  const Course course = course_of(points_of(joined(values, nights(640))), Better::higher, 0.025);
  ASSERT_EQ(course.steps.size(), 1u);
  EXPECT_EQ(course.steps[0].at, 20u);
}

TEST(Course, SmallerThanTheMinimumIsNoStep) {
  EXPECT_EQ(course_of(points_of(joined(nights(700), nights(690))), Better::higher, 0.025).trend, Trend::steady);
  EXPECT_EQ(course_of(points_of(joined(nights(700), nights(690))), Better::higher, 0.01).trend, Trend::stepped);
}

TEST(Course, DownAndUpAgain) {
  const Course course =
      course_of(points_of(joined(joined(nights(700), nights(640, 8)), nights(700))), Better::higher, 0.025);
  ASSERT_EQ(course.steps.size(), 2u);
  EXPECT_EQ(course.steps[0].at, 10u);
  EXPECT_EQ(course.steps[1].at, 18u);
  EXPECT_GT(course.steps[0].change.loss, 0);
  EXPECT_LT(course.steps[1].change.loss, 0);
}

TEST(Course, ThreeAgainstThreeProveNothing) {
  EXPECT_EQ(course_of(points_of({700, 701, 702, 600, 601, 602}), Better::higher, 0.025).trend, Trend::steady);
  EXPECT_EQ(course_of(points_of({700, 701, 702, 600, 601}), Better::higher, 0.025).trend, Trend::too_few);
}

TEST(Course, ADriftHasItsSlope) {
  // 0.1 % a night, exactly: exp(30 * ln(0.999)) - 1 = -2.957 % in 30 days.
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(700 * std::pow(0.999, i));
  const Course course = course_of(points_of(values), Better::higher, 0.0105);
  EXPECT_EQ(course.trend, Trend::drifting);
  EXPECT_NEAR(*course.drift_per_30_days, -0.02957, 1e-4);
  EXPECT_EQ(course_of(points_of(values), Better::higher, 0.02).trend, Trend::steady);  // 1.1 % in all
}

Stored stored(const std::string& file, const std::string& started, double value, Document document = made::gpu_node()) {
  document.run["started"] = started;
  document.measurements = {made::measured("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", made::six(value))};
  return {file, document};
}

TEST(History, GroupsByMachineAndSortsByTime) {
  Document other = made::gpu_node();
  other.platform["instance"] = "p4d.24xlarge";
  const History history =
      history_of("results",
                 {stored("b", "2026-11-02T00:00:00Z", 690), stored("a", "2026-11-01T12:00:00Z", 700),
                  stored("c", "2026-11-01T00:00:00Z", 300, other)},
                 {});
  ASSERT_EQ(history.machines.size(), 2u);
  EXPECT_EQ(history.machines[0].name, "aws:p5.48xlarge, 8 x NVIDIA H100 80GB HBM3");
  ASSERT_EQ(history.machines[0].runs.size(), 2u);
  EXPECT_EQ(history.machines[0].runs[0].file, "a");
  EXPECT_DOUBLE_EQ(history.machines[0].runs[1].days, 0.5);
  EXPECT_DOUBLE_EQ(history.machines[0].series[0].points[0].reading.value, 700);
}

TEST(History, SaysWhatItSkips) {
  Stored first = stored("a", "2026-11-01T00:00:00Z", 700);
  first.document.run["id"] = "x";
  Stored copy = first;
  copy.file = "latest";
  const History history = history_of("results", {first, copy, stored("c", "yesterday", 1)}, {});
  ASSERT_EQ(history.skipped.size(), 2u);
  EXPECT_EQ(history.skipped[0].file, "latest");
  EXPECT_THAT(history.skipped[1].reason, HasSubstr("/run/started"));
  EXPECT_EQ(history.machines.at(0).runs.size(), 1u);
}

TEST(History, OtherMethodsAndLostAnswersAreCounted) {
  Stored old_method = stored("a", "2026-11-01T00:00:00Z", 500);
  old_method.document.measurements[0].conditions["method"] = "gemm/1";
  Stored good = stored("b", "2026-11-02T00:00:00Z", 700);
  good.document.measurements[0].conditions["method"] = "gemm/2";
  Stored broken = stored("c", "2026-11-03T00:00:00Z", 700);
  broken.document.measurements[0] =
      made::unmeasured("gemm.bf16/n:8192", "gemm.bf16.tflops", Outcome::crashed, "SIGSEGV");
  const History history = history_of("results", {old_method, good, broken}, {});
  const Series& series = history.machines.at(0).series.at(0);
  EXPECT_EQ(series.points.size(), 1u);
  EXPECT_EQ(series.measured_otherwise, 1u);
  EXPECT_EQ(series.without_answer, 1u);
  EXPECT_EQ(series.latest_without_answer, "crashed: SIGSEGV");
  EXPECT_THAT(verdict_sentence(history.machines[0]), HasSubstr("One gave no right answer in the latest run."));
}

TEST(History, TheVerdictNamesTheWorstStep) {
  std::vector<Stored> results;
  const std::vector<double> values = joined(nights(700), nights(650, 6));
  for (std::size_t i = 0; i < values.size(); ++i) {
    results.push_back(stored(std::to_string(i), fmt::format("2026-11-{:02}T03:00:00Z", i + 1), values[i]));
  }
  const History history = history_of("results", results, {});
  EXPECT_THAT(verdict_sentence(history.machines.at(0)),
              HasSubstr("1 of 1 figures moved, 1 for the worse; most of all gemm.bf16.tflops, n 8192 (step 2026-11-11: "
                        "-7."));
  const std::string text = history_text(history, false, false);
  EXPECT_THAT(text, HasSubstr("16, 2026-11-01 to 2026-11-16"));
}

}  // namespace
}  // namespace claimcheck::history

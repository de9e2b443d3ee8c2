// Plans: patterns, profiles, budgets, durations.
#include "harness/run/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/error.h"

namespace claimcheck {
namespace {

using testing::HasSubstr;

BenchmarkCase make_case(const std::string& id, int priority, bool quick = true, double setup = 1) {
  BenchmarkCase what;
  what.id = id;
  what.benchmark = id.substr(0, id.find('/'));
  what.metric = what.benchmark + ".gbps";
  what.unit = "GB/s";
  what.method = "test/1";
  what.priority = priority;
  what.quick = quick;
  what.setup_seconds = setup;
  return what;
}

std::vector<BenchmarkCase> four() {
  return {make_case("memory.copy", 2), make_case("memory.triad", 1), make_case("gemm.fp32/n:512", 1),
          make_case("storage.read", 3, false)};
}

std::vector<std::string> ids(const Plan& plan) {
  std::vector<std::string> result;
  for (const PlannedCase& planned : plan.cases) result.push_back(planned.what.id);
  return result;
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, QuickLeavesOutTheRestAndSaysSo) {
  const Plan plan = make_plan(four(), {});
  EXPECT_THAT(ids(plan), testing::ElementsAre("memory.triad", "gemm.fp32/n:512", "memory.copy"));
  ASSERT_EQ(plan.left_out.size(), 1u);
  EXPECT_EQ(plan.left_out[0].first, "storage.read");
}

TEST(Plan, ASoakIsAllOfItsProfileAndOfNoOther) {
  std::vector<BenchmarkCase> cases = four();
  for (const char* id : {"soak/segment:1", "soak/segment:2"}) {
    cases.push_back(make_case(id, 1, false, 60));
    cases.back().soak = true;
  }
  const Plan quick = make_plan(cases, {});
  EXPECT_THAT(ids(quick), testing::ElementsAre("memory.triad", "gemm.fp32/n:512", "memory.copy"));
  ASSERT_EQ(quick.left_out.size(), 3u);
  EXPECT_THAT(quick.left_out[1].second, HasSubstr("--profile soak"));

  PlanRequest request;
  request.soak = true;
  request.only_quick = false;
  request.repetitions = 10;
  request.min_time_seconds = 0.05;
  const Plan soak = make_plan(cases, request);
  EXPECT_THAT(ids(soak), testing::ElementsAre("soak/segment:1", "soak/segment:2"));
  EXPECT_NEAR(soak.estimated_seconds, 2 * (60 + 0.05 * 12.5), 1e-9);  // nearly as long as it was asked to last

  request.budget_seconds = 100;  // a soak is not cut
  EXPECT_THAT(error_of([&] { make_plan(cases, request); }), HasSubstr("the soak takes about 2 min"));

  PlanRequest named;  // under any profile, when asked for by name
  named.only = {"soak"};
  EXPECT_THAT(ids(make_plan(cases, named)), testing::ElementsAre("soak/segment:1", "soak/segment:2"));
}

TEST(Plan, PatternsByIdFamilyMetricAndGlob) {
  PlanRequest request;
  request.only = {"gemm.*"};
  EXPECT_THAT(ids(make_plan(four(), request)), testing::ElementsAre("gemm.fp32/n:512"));
  request.only = {"memory"};
  EXPECT_THAT(ids(make_plan(four(), request)), testing::ElementsAre("memory.triad", "memory.copy"));
  request.only = {"storage.read.gbps"};  // by name: measured although it is not in the quick profile
  EXPECT_THAT(ids(make_plan(four(), request)), testing::ElementsAre("storage.read"));
}

TEST(Plan, UnknownPatternNamesTheNearest) {
  PlanRequest request;
  request.only = {"memory.traid"};
  EXPECT_THAT(error_of([&] { make_plan(four(), request); }), HasSubstr("\"memory.triad\""));
}

TEST(Plan, EstimateIsSetupPlusRepetitions) {
  // 1 s setup + 0.2 s x (6 repetitions + 2.5 for warm-up and calibration)
  EXPECT_DOUBLE_EQ(estimate_seconds(make_case("a", 1), 6, 0.2), 1 + 0.2 * 8.5);
  BenchmarkCase slow = make_case("b", 1);
  slow.iteration_seconds = 3;  // one iteration is longer than the minimum time: each repetition is one iteration
  EXPECT_DOUBLE_EQ(estimate_seconds(slow, 6, 0.2), 1 + 3 * 7);
  slow.unsupported = "no";
  EXPECT_DOUBLE_EQ(estimate_seconds(slow, 6, 0.2), 0);
}

TEST(Plan, ABudgetFirstShortensThenLeavesOutTheLeastImportant) {
  PlanRequest request;
  request.only_quick = false;
  request.min_time_seconds = 0.5;
  request.budget_seconds = 9;  // 4 cases at 0.5 s: 4 x (1 + 4.25) = 21 s; at the floor of 0.05 s: 4 x 1.425 = 5.7 s
  Plan plan = make_plan(four(), request);
  EXPECT_EQ(plan.cases.size(), 4u);
  EXPECT_LT(plan.min_time_seconds, 0.5);
  EXPECT_LE(plan.estimated_seconds, 9);
  request.budget_seconds = 4.5;  // room for three at the floor
  plan = make_plan(four(), request);
  EXPECT_THAT(ids(plan), testing::ElementsAre("memory.triad", "gemm.fp32/n:512", "memory.copy"));
  ASSERT_EQ(plan.left_out.size(), 1u);
  EXPECT_THAT(plan.left_out[0].second, HasSubstr("budget"));
  EXPECT_LE(plan.estimated_seconds, 4.5);
}

TEST(Plan, ABudgetNothingFitsIsAnError) {
  PlanRequest request;
  request.budget_seconds = 0.5;
  EXPECT_THAT(error_of([&] { make_plan(four(), request); }), HasSubstr("not even the shortest benchmark fits"));
}

TEST(Plan, SurvivesTheJournal) {
  PlanRequest request;
  Plan plan = make_plan(four(), request);
  plan.cases[0].what.also = {{"memory.triad.latency.us", "us"}};
  const Plan again = plan_from(nlohmann::json::parse(to_json(plan).dump()));
  EXPECT_EQ(ids(again), ids(plan));
  EXPECT_EQ(again.cases[0].what.also, plan.cases[0].what.also);
  EXPECT_EQ(again.left_out, plan.left_out);
  EXPECT_DOUBLE_EQ(again.estimated_seconds, plan.estimated_seconds);
  EXPECT_EQ(again.repetitions, plan.repetitions);
}

TEST(Description, MalformedNamesThePlace) {
  const auto message = [](const char* text) -> std::string {
    try {
      cases_from_description(nlohmann::json::parse(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("{}"), "/benchmarks is not an array");
  EXPECT_EQ(message(R"({"benchmarks":[1]})"), "/benchmarks/0 is not an object");
  EXPECT_EQ(message(R"({"benchmarks":[{"id":"a","metric":7}]})"), "/benchmarks/0/metric has the wrong type");
  EXPECT_EQ(message(R"({"benchmarks":[{"id":"a"}]})"), "/benchmarks/0/metric is missing");
}

TEST(Duration, Parses) {
  EXPECT_DOUBLE_EQ(parse_duration("90", "--budget"), 90);
  EXPECT_DOUBLE_EQ(parse_duration("90s", "--budget"), 90);
  EXPECT_DOUBLE_EQ(parse_duration("5m", "--budget"), 300);
  EXPECT_DOUBLE_EQ(parse_duration("1h30m", "--budget"), 5400);
  EXPECT_DOUBLE_EQ(parse_duration("0.5h", "--budget"), 1800);
  for (const char* bad : {"", "m", "5x", "-3", "nan", "inf", "5m-", "0"}) {
    EXPECT_THAT(error_of([&] { parse_duration(bad, "--budget"); }), HasSubstr("expected a duration")) << bad;
  }
}

TEST(Duration, Text) {
  EXPECT_EQ(duration_text(1.25), "1.2 s");
  EXPECT_EQ(duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(duration_text(160), "2 min 40 s");
  EXPECT_EQ(duration_text(5400), "1 h 30 min");
}

}  // namespace
}  // namespace claimcheck

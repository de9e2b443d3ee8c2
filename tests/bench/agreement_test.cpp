// What processes that failed say together, and which of them is named.
#include "bench/worker/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/worker/process_values.h"

namespace claimcheck::bench {
namespace {

using kernels::Outcome;
using testing::HasSubstr;

// Four processes on two nodes; this one is the first, and the others have said `others`.
class Four : public kernels::World {
 public:
  explicit Four(std::vector<std::optional<std::string>> others = {{}, {}, {}}) : others_(std::move(others)) {}

  int processes() const override { return 4; }
  int nodes() const override { return 2; }
  int node_of(int process) const override { return process / 2; }
  kernels::PhaseReports end_phase(std::optional<std::string> mine) override {
    kernels::PhaseReports reports = {std::move(mine)};
    reports.insert(reports.end(), others_.begin(), others_.end());
    const bool none = std::none_of(reports.begin(), reports.end(), [](const auto& one) { return one.has_value(); });
    return none ? kernels::PhaseReports{} : reports;
  }
  std::vector<std::string> gather(const std::string& mine) override {
    std::vector<std::string> all = {mine};
    for (const auto& other : others_) all.push_back(other.value_or(mine));
    return all;
  }

 private:
  std::vector<std::optional<std::string>> others_;
};

std::string said(Outcome outcome, const std::string& reason, bool dead = false) {
  return nlohmann::json{{"outcome", static_cast<int>(outcome)}, {"reason", reason}, {"context_dead", dead}}.dump();
}

TEST(Agreement, NobodyFailed) {
  Four world;
  EXPECT_FALSE(agree(world, std::nullopt).has_value());
}

TEST(Agreement, ASingleProcessKeepsItsOwnWords) {
  kernels::World alone;
  EXPECT_EQ(agree(alone, Failure{Outcome::failed, "no memory", false})->reason, "no memory");
  EXPECT_FALSE(agree(alone, std::nullopt).has_value());
}

TEST(Agreement, TheOneThatFailedIsNamed) {
  Four world({{}, {}, said(Outcome::wrong_result, "element 3 differs")});
  const Failure failure = agree(world, std::nullopt).value();
  EXPECT_EQ(failure.outcome, Outcome::wrong_result);
  EXPECT_EQ(failure.reason, "process 3 on node 1: element 3 differs");
}

TEST(Agreement, OfSeveralTheFirstWithHowMany) {
  Four world({said(Outcome::failed, "GPU lost", true), {}, said(Outcome::failed, "no memory")});
  const Failure failure = agree(world, std::nullopt).value();
  EXPECT_EQ(failure.reason, "process 1 on node 0 (2 of 4 processes failed): GPU lost");
  EXPECT_TRUE(failure.context_dead);
}

TEST(Agreement, WhoWaitedInVainIsNotTheCause) {
  Four world({said(Outcome::timed_out, "rank 2 did not come"), said(Outcome::failed, "GPU lost"),
              said(Outcome::timed_out, "rank 2 did not come")});
  const Failure failure = agree(world, Failure{Outcome::timed_out, "rank 2 did not come", false}).value();
  EXPECT_EQ(failure.outcome, Outcome::failed);
  EXPECT_EQ(failure.reason, "process 2 on node 1 (4 of 4 processes failed): GPU lost");
}

TEST(Agreement, WhatAllSayIsSaidOnce) {
  const std::string same = said(Outcome::unsupported, "no such unit");
  Four world({same, same, same});
  const Failure failure = agree(world, Failure{Outcome::unsupported, "no such unit", false}).value();
  EXPECT_EQ(failure.outcome, Outcome::unsupported);
  EXPECT_EQ(failure.reason, "no such unit");
}

TEST(Agreement, AWorldThatIsGoneLeavesTheOwnReason) {
  struct Gone : Four {
    kernels::PhaseReports end_phase(std::optional<std::string>) override {
      throw kernels::Error({.outcome = Outcome::timed_out,
                            .library = "MPI",
                            .code = {},
                            .text = "process 1 did not come",
                            .remedy = {},
                            .context_dead = true});
    }
  } world;
  EXPECT_EQ(agree(world, Failure{Outcome::failed, "mine", false})->reason, "mine");
  const Failure failure = agree(world, std::nullopt).value();
  EXPECT_THAT(failure.reason, HasSubstr("process 1 did not come"));
  EXPECT_TRUE(failure.context_dead);
}

TEST(ProcessValues, TheSlowestIsNamedWithItsNode) {
  const auto other = [](double seconds, double value, const char* name) {
    return nlohmann::json{{"seconds", seconds}, {"value", value}, {"name", name}}.dump();
  };
  Four world({other(1.0, 98, "GPU b"), other(2.5, 40, "GPU c"), other(1.25, 80, "GPU d")});
  const nlohmann::json values = process_values(world, {.seconds = 1.0, .value = 100, .name = "GPU a"});
  EXPECT_EQ(values["processes"].size(), 4u);
  EXPECT_EQ(values["processes"][3], (nlohmann::json{{"process", 3}, {"node", 1}, {"name", "GPU d"}, {"value", 80.0}}));
  EXPECT_EQ(values["slowest_process"]["process"], 2);
  EXPECT_EQ(values["slowest_process"]["node"], 1);
  EXPECT_EQ(values["slowest_process"]["name"], "GPU c");
  EXPECT_DOUBLE_EQ(values["slowest_process"]["times_fastest"].get<double>(), 2.5);
}

TEST(ProcessValues, ASingleProcessHasNoneBesideIt) {
  kernels::World alone;
  EXPECT_TRUE(process_values(alone, {.seconds = 1, .value = 2, .name = "CPU"}).empty());
}

}  // namespace
}  // namespace claimcheck::bench

// Measuring with shell scripts as workers: what a worker can do to the harness, without any device.
#include "harness/run/measure.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "harness/error.h"
#include "harness/run/environment.h"
#include "harness/run/limits.h"
#include "harness/run/worker_process.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Collector : public MeasureObserver {
 public:
  void begin(const std::string& id, double) override { begun.push_back(id); }
  void measured(const Measurement& measurement) override { results[measurement.id] = measurement; }
  void found(const Finding& finding) override { findings.push_back(finding); }
  void finished(const std::string& id, double) override { ended.push_back(id); }
  void described(const nlohmann::json& description) override { descriptions.push_back(description); }
  void tick() override { ++ticks; }
  int interrupted() override { return interrupt_after > 0 && ticks >= interrupt_after ? SIGTERM : 0; }

  std::vector<std::string> begun;
  std::vector<std::string> ended;
  std::map<std::string, Measurement> results;
  std::vector<Finding> findings;
  std::vector<nlohmann::json> descriptions;
  int ticks = 0;
  int interrupt_after = 0;
};

class MeasureTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "claimcheck-measure-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    for (const char* id : {"a", "b", "c"}) {
      BenchmarkCase what;
      what.id = what.benchmark = id;
      what.metric = "memory.triad.gbps";
      what.unit = "GB/s";
      what.method = "memory/1";
      plan_.cases.push_back({what, 0.5});
    }
    plan_.repetitions = 3;
    plan_.min_time_seconds = 0.1;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A worker that runs `body` for each id of --only, in order; `ok ID` delivers a measurement.
  MeasureResult run(const std::string& body, std::optional<double> limit = 20) {
    const fs::path script = folder_ / "worker.sh";
    std::ofstream(script) << R"(say() { printf '%s\n' "$1"; }
ok() { say "@claimcheck {\"event\":\"begin\",\"id\":\"$1\"}"
  say "@claimcheck {\"event\":\"measurement\",\"measurement\":{\"id\":\"$1\",\"metric\":\"memory.triad.gbps\",\"unit\":\"GB/s\",\"status\":\"ok\",\"samples\":[30,31,32],\"conditions\":{\"method\":\"memory/1\"}}}"
  say "@claimcheck {\"event\":\"end\",\"id\":\"$1\"}"; }
begin() { say "@claimcheck {\"event\":\"begin\",\"id\":\"$1\"}"; }
for word; do case $word in --only=*) ids=$(printf '%s' "${word#--only=}" | tr , ' ');; esac; done
say "$ids" >> ")" + (folder_ / "starts").string() +
                                 "\"\nfor id in $ids; do\n" + body + "\ndone\nsay '@claimcheck {\"event\":\"bye\"}'\n";
    MeasureOptions options;
    options.command = {"/bin/sh", script.string()};
    options.limits.of_case = limit;
    options.limits.budget = budget_;
    options.limits.silence = silence_;
    options.log = folder_ / "worker.log";
    options.look_again = look_again_;
    return measure(plan_, options, seen_);
  }

  fs::path folder_;
  Plan plan_;
  Collector seen_;
  std::optional<double> budget_;
  std::optional<double> silence_;
  std::function<nlohmann::json(double)> look_again_;
};

// --describe of a worker that can measure these.
nlohmann::json description_of(const std::vector<std::string>& ids) {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& id : ids)
    rows.push_back({{"id", id}, {"metric", "memory.triad.gbps"}, {"unit", "GB/s"}, {"method", "memory/1"}});
  return {{"benchmarks", rows}};
}

TEST_F(MeasureTest, AllWell) {
  const MeasureResult result = run("ok $id");
  EXPECT_THAT(seen_.ended, ElementsAre("a", "b", "c"));
  EXPECT_DOUBLE_EQ(*seen_.results["b"].value, 31);
  EXPECT_TRUE(result.left_out.empty());
}

TEST_F(MeasureTest, ACrashCostsOneCase) {
  run("if [ $id = b ]; then begin b; echo last words >&2; kill -SEGV $$; fi; ok $id");
  EXPECT_THAT(seen_.ended, ElementsAre("a", "b", "c"));
  EXPECT_EQ(seen_.results["b"].status, Outcome::crashed);
  EXPECT_THAT(seen_.results["b"].reason, HasSubstr("killed by signal 11 (SIGSEGV)"));
  EXPECT_EQ(seen_.results["b"].evidence["worker_stderr"], "last words");
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
  std::ifstream starts(folder_ / "starts");
  std::string first;
  std::string second;
  std::getline(starts, first);
  std::getline(starts, second);
  EXPECT_EQ(first, "a b c");
  EXPECT_EQ(second, "c");  // neither the guilty case nor a finished one again
}

TEST_F(MeasureTest, WhatAVirtualWorkerDidNotDeliverIsVirtualToo) {
  run("say '@claimcheck {\"event\":\"hello\",\"virtual\":true}'; begin $id; kill -SEGV $$");
  EXPECT_EQ(seen_.results["a"].status, Outcome::crashed);
  EXPECT_TRUE(seen_.results["a"].is_virtual);
}

TEST_F(MeasureTest, AHangCostsOneCaseAndNoMoreThanItsLimit) {
  const auto start = std::chrono::steady_clock::now();
  run("if [ $id = b ]; then begin b; exec sleep 60; fi; ok $id", 0.5);
  EXPECT_EQ(seen_.results["b"].status, Outcome::timed_out);
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(MeasureTest, AWorkerThatIgnoresSigtermIsKilled) {
  const auto start = std::chrono::steady_clock::now();
  run("if [ $id = b ]; then trap '' TERM; begin b; while :; do sleep 1; done; fi; ok $id", 0.5);
  EXPECT_EQ(seen_.results["b"].status, Outcome::timed_out);
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(MeasureTest, AnExitInTheMiddleIsACrash) {
  run("if [ $id = a ]; then begin a; exit 7; fi; ok $id");
  EXPECT_EQ(seen_.results["a"].status, Outcome::crashed);
  EXPECT_THAT(seen_.results["a"].reason, HasSubstr("exited with code 7"));
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
}

TEST_F(MeasureTest, AWorkerThatNeverBeginsFailsEverythingSoon) {
  run("echo no licence >&2; exit 9");
  EXPECT_THAT(seen_.ended, ElementsAre("a", "b", "c"));
  EXPECT_EQ(seen_.results["a"].status, Outcome::failed);
  EXPECT_THAT(seen_.results["c"].reason, testing::AllOf(HasSubstr("code 9"), HasSubstr("no licence")));
}

TEST_F(MeasureTest, AWorkersOwnSentenceCountsBeforeItsLaunchers) {
  run("echo '-----' >&2; echo 'claimcheck-bench: no such benchmark' >&2; echo 'mpirun: a process left' >&2; echo "
      "'-----' >&2; exit 2");
  EXPECT_EQ(seen_.results["a"].reason, "the worker exited with code 2 before it began: no such benchmark");
}

TEST_F(MeasureTest, AnEndWithoutAResultIsAFailure) {
  run("begin $id; say \"@claimcheck {\\\"event\\\":\\\"end\\\",\\\"id\\\":\\\"$id\\\"}\"");
  EXPECT_EQ(seen_.results.size(), 3u);
  EXPECT_EQ(seen_.results["a"].status, Outcome::failed);
}

TEST_F(MeasureTest, GarbageBetweenEventsIsNoHarm) {
  run("printf '\\377\\376 junk'; head -c 6000000 /dev/zero; printf '\\n@claimcheck {broken\\n'; ok $id");
  EXPECT_THAT(seen_.ended, ElementsAre("a", "b", "c"));
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
}

TEST_F(MeasureTest, AMalformedMeasurementIsAFindingAndAFailure) {
  run("if [ $id = a ]; then begin a; say '@claimcheck {\"event\":\"measurement\",\"measurement\":{\"id\":\"a\"}}'; "
      "say '@claimcheck {\"event\":\"end\",\"id\":\"a\"}'; else ok $id; fi");
  EXPECT_EQ(seen_.results["a"].status, Outcome::failed);
  ASSERT_EQ(seen_.findings.size(), 1u);
  EXPECT_EQ(seen_.findings[0].id, "worker.malformed_event");
  EXPECT_EQ(seen_.results["b"].status, Outcome::ok);
}

TEST_F(MeasureTest, ASignalLeavesOutTheRest) {
  seen_.interrupt_after = 3;
  const MeasureResult result = run("if [ $id = b ]; then begin b; exec sleep 60; fi; ok $id");
  EXPECT_EQ(result.interrupted_by, SIGTERM);
  EXPECT_THAT(seen_.ended, ElementsAre("a"));
  ASSERT_EQ(result.left_out.size(), 2u);
  EXPECT_THAT(result.left_out[0].second, HasSubstr("SIGTERM"));
}

TEST_F(MeasureTest, TheBudgetEndsARunInWhichEverythingHangs) {
  budget_ = 3;
  const auto start = std::chrono::steady_clock::now();
  const MeasureResult result = run("begin $id; exec sleep 60", 600);
  EXPECT_EQ(seen_.results["a"].status, Outcome::timed_out);
  EXPECT_EQ(seen_.results.size() + result.left_out.size(), 3u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(3300 + 300));
}

TEST_F(MeasureTest, AGrandchildHoldingThePipeDoesNotHoldTheRun) {
  const auto start = std::chrono::steady_clock::now();
  run("if [ $id = c ]; then begin c; setsid sleep 15 & exit 4; fi; ok $id");
  EXPECT_EQ(seen_.results["c"].status, Outcome::crashed);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST_F(MeasureTest, SilenceIsNoticedBeforeALongDeadline) {
  silence_ = 0.6;
  run("if [ $id = b ]; then begin b; say '@claimcheck {\"event\":\"heartbeat\",\"id\":\"b\",\"phase\":\"verify\"}'; "
      "exec sleep 60; fi; ok $id",
      600);
  EXPECT_EQ(seen_.results["b"].status, Outcome::timed_out);
  EXPECT_THAT(seen_.results["b"].reason,
              testing::AllOf(HasSubstr("in phase \"verify\""), HasSubstr("no sign of life for 0.")));
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
}

TEST_F(MeasureTest, HeartbeatsAreSignsOfLife) {
  silence_ = 0.6;
  run("if [ $id = b ]; then begin b; for i in 1 2 3 4 5 6; do sleep 0.2; "
      "say '@claimcheck {\"event\":\"heartbeat\",\"id\":\"b\",\"phase\":\"measure\"}'; done; fi; ok $id",
      600);
  EXPECT_EQ(seen_.results["b"].status, Outcome::ok);
}

// As when freeing memory on a lost GPU never returns.
TEST_F(MeasureTest, AHangBetweenTwoBenchmarksEndsWithTheBudget) {
  budget_ = 2;
  const auto start = std::chrono::steady_clock::now();
  const MeasureResult result = run("ok $id; exec sleep 60", 600);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2200 + 300));
  EXPECT_EQ(seen_.results["a"].status, Outcome::ok);
  EXPECT_EQ(result.left_out.size(), 2u);
}

TEST_F(MeasureTest, AHangBeforeTheFirstBenchmarkEndsWithTheBudget) {
  budget_ = 2;
  const auto start = std::chrono::steady_clock::now();
  const MeasureResult result = run("say '@claimcheck {\"event\":\"hello\"}'; exec sleep 60", 600);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2200 + 300));
  EXPECT_EQ(result.left_out.size(), 3u);
}

TEST_F(MeasureTest, WhatIsLostWithADeviceFailsAndTheRestIsMeasured) {
  int looks = 0;
  look_again_ = [&](double seconds) {
    ++looks;
    EXPECT_GT(seconds, 0);
    return description_of({"a", "c"});
  };
  run("if [ $id = a ]; then begin a; exit 1; fi; ok $id");
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(seen_.descriptions.size(), 1u);
  EXPECT_EQ(seen_.results["a"].status, Outcome::crashed);
  EXPECT_EQ(seen_.results["b"].status, Outcome::failed);
  EXPECT_THAT(seen_.results["b"].reason, HasSubstr("devices that are left"));
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
}

TEST_F(MeasureTest, WithoutADeviceTheRestFailsWithItsReason) {
  look_again_ = [](double) -> nlohmann::json { throw UserError("no CUDA device", ExitCode::no_device); };
  run("if [ $id = b ]; then begin b; exit 1; fi; ok $id");
  EXPECT_EQ(seen_.results["a"].status, Outcome::ok);
  EXPECT_EQ(seen_.results["b"].status, Outcome::crashed);
  EXPECT_EQ(seen_.results["c"].status, Outcome::failed);
  EXPECT_THAT(seen_.results["c"].reason, HasSubstr("no CUDA device"));
}

TEST_F(MeasureTest, EventsOfTheWrongShapeAreNoHarm) {
  run("say '@claimcheck {\"event\":\"hello\",\"virtual\":3}'; say '@claimcheck {\"event\":\"begin\",\"id\":[1]}'; "
      "say '@claimcheck {\"event\":\"heartbeat\",\"id\":\"a\",\"phase\":7}'; ok $id");
  EXPECT_THAT(seen_.ended, ElementsAre("a", "b", "c"));
}

TEST_F(MeasureTest, ANestedEventIsNoEvent) {
  run("begin $id; printf '@claimcheck {\"event\":\"measurement\",\"measurement\":{\"id\":\"%s\",\"evidence\":' $id; "
      "head -c 1000000 /dev/zero | tr '\\0' '['; head -c 1000000 /dev/zero | tr '\\0' ']'; echo '}}'; ok $id");
  EXPECT_EQ(seen_.results["a"].status, Outcome::ok);
  EXPECT_EQ(seen_.results["c"].status, Outcome::ok);
}

TEST_F(MeasureTest, AFloodOfMalformedMeasurementsIsToldOnce) {
  run("begin $id; i=0; while [ $i -lt 200 ]; do i=$((i+1)); "
      "say '@claimcheck {\"event\":\"measurement\",\"measurement\":{}}'; done; ok $id");
  EXPECT_EQ(seen_.findings.size(), 3u);
}

TEST_F(MeasureTest, ADaemonOfTheWorkerIsEndedToo) {
  const fs::path mark = folder_ / "daemon";
  run("if [ $id = a ]; then (setsid sh -c 'echo $$ > " + mark.string() +
      "; exec sleep 60' >/dev/null 2>&1 &); while [ ! -s " + mark.string() + " ]; do sleep 0.02; done; fi; ok $id");
  int process = 0;
  std::ifstream(mark) >> process;
  ASSERT_GT(process, 0);
  // Killed and, at the latest by the next look, reaped: nobody has that number, or a zombie has.
  std::ifstream state(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(state, text);
  EXPECT_TRUE(text.empty() || text.find(") Z ") != std::string::npos) << text;
}

TEST(Limits, OfABenchmark) {
  PlannedCase planned;
  planned.estimated_seconds = 4;
  EXPECT_DOUBLE_EQ(case_limit({}, planned), 30);  // the floor
  planned.estimated_seconds = 20;
  EXPECT_DOUBLE_EQ(case_limit({}, planned), 100);
  TimeLimits asked;
  asked.of_case = 3;
  EXPECT_DOUBLE_EQ(case_limit(asked, planned), 3);
}

TEST(Limits, OfSilence) {
  BenchmarkCase what;
  what.setup_seconds = 2;
  EXPECT_DOUBLE_EQ(silence_limit({}, what), 60);
  what.setup_seconds = 30;
  what.iteration_seconds = 10;
  EXPECT_DOUBLE_EQ(silence_limit({}, what), 200);
}

TEST(Limits, OfTheWhole) {
  EXPECT_FALSE(hard_end({}));
  TimeLimits limits;
  limits.budget = 300;
  EXPECT_DOUBLE_EQ(*hard_end(limits), 328.5);  // 330 less the time from SIGTERM to SIGKILL
  limits.budget = 4;
  EXPECT_DOUBLE_EQ(*hard_end(limits), 4);
  EXPECT_NEAR(stop_seconds(limits), 0.4, 1e-12);
}

TEST(Environment, ByAllowList) {
  for (const char* name : {"PATH", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "LD_LIBRARY_PATH", "SLURM_JOB_ID", "LC_ALL"})
    EXPECT_TRUE(is_passed_on(name)) << name;
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "GITHUB_TOKEN", "PATHS", "BASH_ENV", "ENV", "", "*"})
    EXPECT_FALSE(is_passed_on(name)) << name;
  EXPECT_TRUE(is_passed_on("ACME_FABRIC", "MINE,ACME_*"));
  EXPECT_TRUE(is_passed_on("MINE", "MINE,ACME_*"));
  EXPECT_FALSE(is_passed_on("MINE2", "MINE,ACME_*"));
  EXPECT_FALSE(is_passed_on("HF_TOKEN", "*"));  // everything is not a list
  const char* const environment[] = {"PATH=/bin", "HF_TOKEN=x", "odd", "OMP_NUM_THREADS=2", nullptr};
  EXPECT_THAT(worker_environment(environment), ElementsAre("PATH=/bin", "OMP_NUM_THREADS=2"));
}

TEST(WorkerProcess, AMissingProgramIsASentence) {
  try {
    WorkerProcess process({"/nonexistent/claimcheck-bench-host"});
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot start /nonexistent/claimcheck-bench-host: No such file"));
  }
}

}  // namespace
}  // namespace claimcheck

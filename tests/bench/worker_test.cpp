// The worker's pure parts, with values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "bench/facts_json.h"
#include "bench/lanes.h"
#include "bench/worker/clock_check.h"
#include "bench/worker/events.h"
#include "bench/worker/nearest.h"
#include "bench/worker/options.h"
#include "bench/worker/registry.h"
#include "bench/worker/samples.h"

namespace claimcheck::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---------------------------------------------------------------------------------------------- samples

Benchmark benchmark_in(const std::string& unit, Rate rate = Rate::work_per_second) {
  return {.id = "x", .metric = "x.value", .unit = unit, .method = "x/1", .summary = "", .rate = rate, .prepare = {}};
}

Call call_of(const std::vector<Iteration>& iterations) {
  Call call;
  for (const Iteration& iteration : iterations) call.add(iteration);
  return call;
}

TEST(Samples, RateIsWorkOverTheMeanTime) {
  // 2 iterations of 3e9 bytes, 1 s and 2 s: 6e9 bytes in 3 s.
  const std::vector<Call> calls = {call_of({{.seconds = 1}, {.seconds = 2}})};
  EXPECT_THAT(samples(benchmark_in("GB/s"), 3e9, calls), ElementsAre(2.0));
  EXPECT_THAT(samples(benchmark_in("TFLOPS"), 3e12, calls), ElementsAre(2.0));
}

TEST(Samples, LatencyIsTimeOverTheOperationsOfAnIteration) {
  // 100 operations an iteration, 4 ms on average: 40 us each.
  const std::vector<Call> calls = {call_of({{.seconds = 3e-3}, {.seconds = 5e-3}})};
  const std::vector<double> found = samples(benchmark_in("us", Rate::seconds), 100, calls);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0], 40);
}

TEST(Samples, FurtherMetricsAreWeightedByTime) {
  // 10 GB/s for 1 s and 1 GB/s for 3 s are 13 GB in 4 s.
  const std::vector<Call> calls = {
      call_of({{.seconds = 1, .also = {{"y", 10.0}}}, {.seconds = 3, .also = {{"y", 1.0}}}})};
  EXPECT_THAT(also_samples("y", calls), ElementsAre(3.25));
  EXPECT_TRUE(also_samples("z", calls).empty());
  Benchmark ratio = benchmark_in("1", Rate::ratio);
  ratio.metric = "y";
  EXPECT_THAT(samples(ratio, 0, calls), ElementsAre(3.25));
}

TEST(Samples, EachDeviceHasItsOwnTime) {
  const std::vector<Call> calls = {call_of({{.seconds = 2, .device_seconds = {1, 2}}})};
  EXPECT_THAT(device_samples(benchmark_in("GB/s"), 4e9, calls, 0), ElementsAre(4.0));
  EXPECT_THAT(device_samples(benchmark_in("GB/s"), 4e9, calls, 1), ElementsAre(2.0));
  EXPECT_TRUE(device_samples(benchmark_in("GB/s"), 4e9, calls, 2).empty());
}

TEST(Samples, OnlyTheRepetitionsCount) {
  std::vector<Call> calls(5);
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].iterations = static_cast<std::int64_t>(i);
  const std::span<const Call> counted = repetitions_of(calls, 2);
  ASSERT_EQ(counted.size(), 2U);
  EXPECT_EQ(counted[0].iterations, 3);
  EXPECT_EQ(repetitions_of(calls, 9).size(), 5U);
}

TEST(Samples, UnitsAreDecimal) {
  EXPECT_EQ(unit_factor("GB/s"), 1e9);
  EXPECT_EQ(unit_factor("us"), 1e-6);
  EXPECT_EQ(unit_factor("IOPS"), 1);
  EXPECT_FALSE(unit_factor("GiB/s"));
  const std::vector<Call> calls = {call_of({{.seconds = 1}})};
  EXPECT_THROW(samples(benchmark_in("GiB/s"), 1, calls), std::logic_error);
}

// ---------------------------------------------------------------------------------------------- clocks

ClockComparison comparison(double device, double host, int iterations) {
  ClockComparison made;
  made.device_seconds = device;
  made.host_seconds = host;
  made.iterations = iterations;
  return made;
}

TEST(ClockComparison, AcceptsTenPercentEitherWay) {
  EXPECT_FALSE(comparison(0.0219, 0.020, 4).disagreement(0));
  EXPECT_FALSE(comparison(0.0181, 0.020, 4).disagreement(0));
}

TEST(ClockComparison, SaysBothFigures) {
  const auto slow = comparison(0.010, 0.020, 4).disagreement(0);
  ASSERT_TRUE(slow);
  EXPECT_THAT(*slow, HasSubstr("0.010000 s and 0.020000 s for the same 4 iterations"));
  EXPECT_TRUE(comparison(0.030, 0.020, 4).disagreement(0));
}

TEST(ClockComparison, ShortIterationsMayHideBehindTheHostsOwnWork) {
  EXPECT_FALSE(comparison(0.010, 0.020, 40).disagreement(0));
  EXPECT_TRUE(comparison(0.030, 0.020, 40).disagreement(0)) << "but device time is never above host time";
}

TEST(ClockComparison, TimeSpentWaitingForACpuIsNotTheDevices) {
  EXPECT_FALSE(comparison(0.010, 0.020, 4).disagreement(0.009));
  EXPECT_TRUE(comparison(0.010, 0.020, 4).disagreement(0.008));
}

// ---------------------------------------------------------------------------------------------- command line

WorkerOptions parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "worker");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return parse_options(static_cast<int>(pointers.size()), pointers.data());
}

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parsed(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(WorkerOptions, ReadsItsOwnAndGooglesFlags) {
  const WorkerOptions options = parsed({"--only", "a,b/n:4", "--seed", "7", "--max-bytes", "4096", "--scratch", "/x",
                                        "--benchmark_min_time=0.25", "--benchmark_repetitions=3"});
  EXPECT_THAT(options.only, ElementsAre("a", "b/n:4"));
  EXPECT_EQ(options.benchmarks.seed, 7U);
  EXPECT_EQ(options.benchmarks.max_bytes, 4096U);
  EXPECT_EQ(options.benchmarks.scratch_directory, "/x");
  EXPECT_EQ(options.benchmarks.min_time_seconds, 0.25);
  EXPECT_EQ(options.repetitions, 3);
  EXPECT_TRUE(options.events);
  EXPECT_EQ(options.google.back(), "--benchmark_repetitions=3");
}

TEST(WorkerOptions, DefaultsGiveAnIntervalOfTheMedian) {
  const WorkerOptions options = parsed({});
  EXPECT_EQ(options.repetitions, 6);
  EXPECT_THAT(options.google, ElementsAre("worker", "--benchmark_min_time=0.5", "--benchmark_repetitions=6"));
}

TEST(WorkerOptions, ListsAreForPeople) {
  EXPECT_FALSE(parsed({"--benchmark_list_tests"}).events);
  EXPECT_FALSE(parsed({"--benchmark_list_tests=true"}).events);
  EXPECT_TRUE(parsed({"--benchmark_list_tests=false"}).events);
  EXPECT_FALSE(parsed({"--no-events"}).events);
}

TEST(WorkerOptions, UnknownOnesNameTheNearest) {
  EXPECT_EQ(refusal({"--max-byte", "3"}), "unknown argument '--max-byte'; the nearest option is --max-bytes");
  EXPECT_EQ(refusal({"--benchmark_fliter=x"}),
            "unknown argument '--benchmark_fliter=x'; the nearest option is --benchmark_filter");
  EXPECT_THAT(refusal({"--max-bytes", "many"}), HasSubstr("--max-bytes"));
  EXPECT_THAT(refusal({"--deadline", "-1"}), HasSubstr("--deadline"));
  EXPECT_THAT(refusal({"--fault", "explode:x"}), HasSubstr("--fault wants KIND:ID"));
}

TEST(WorkerOptions, HelpHidesTheFaults) {
  const WorkerOptions options = parsed({"--help"});
  ASSERT_TRUE(options.help);
  EXPECT_THAT(*options.help, HasSubstr("--max-gemm"));
  EXPECT_EQ(options.help->find("--fault"), std::string::npos);
}

TEST(Nearest, CountsEdits) {
  const std::vector<std::string> words = {"memory.read", "memory.triad", "gemm.fp32"};
  EXPECT_EQ(nearest("memory.traid", words), "memory.triad");
  EXPECT_EQ(nearest("gem.fp32", words), "gemm.fp32");
  EXPECT_EQ(nearest("x", std::vector<std::string>{}), "");
}

// ---------------------------------------------------------------------------------------------- cases

TEST(Choose, KeepsTheOrderAskedForAndKnowsBenchmarks) {
  const Benchmark first = {.id = "a", .metric = "", .unit = "", .method = "", .summary = "", .prepare = {}};
  const Benchmark second = {.id = "b", .metric = "", .unit = "", .method = "", .summary = "", .prepare = {}};
  const std::vector<ListedCase> cases = {{&first, {.label = "n:1"}, "a/n:1", {}},
                                         {&first, {.label = "n:2"}, "a/n:2", {}},
                                         {&second, {.label = ""}, "b", {}}};
  const auto ids = [&](const std::vector<std::string>& only) {
    std::vector<std::string> result;
    for (const ListedCase& one : choose(cases, only)) result.push_back(one.id);
    return result;
  };
  EXPECT_THAT(ids({}), ElementsAre("a/n:1", "a/n:2", "b"));
  EXPECT_THAT(ids({"b", "a/n:2"}), ElementsAre("b", "a/n:2"));
  EXPECT_THAT(ids({"a/n:2", "a"}), ElementsAre("a/n:2", "a/n:1"));
  EXPECT_THROW(choose(cases, {"a/n:3"}), UsageError);
}

TEST(CurrentFailure, KeepsOutcomeAndReason) {
  try {
    throw kernels::unsupported("no such unit", "buy one");
  } catch (...) {
    EXPECT_EQ(current_failure().outcome, kernels::Outcome::unsupported);
    EXPECT_EQ(current_failure().reason, "no such unit; buy one");
  }
  try {
    throw std::bad_alloc();
  } catch (...) {
    EXPECT_EQ(current_failure().outcome, kernels::Outcome::failed);
    EXPECT_FALSE(current_failure().context_dead);
  }
}

TEST(Registry, IdsAreInOrderAndOnceOnly) {
  ASSERT_FALSE(all().empty());
  for (std::size_t i = 1; i < all().size(); ++i) EXPECT_LT(all()[i - 1].id, all()[i].id);
  EXPECT_THROW(add(all()[0]), std::logic_error);
}

TEST(Registry, EveryUnitIsKnown) {
  for (const Benchmark& benchmark : all()) {
    EXPECT_TRUE(unit_factor(benchmark.unit)) << benchmark.id;
    for (const auto& [metric, unit] : benchmark.also) EXPECT_TRUE(unit_factor(unit)) << metric;
  }
}

// ---------------------------------------------------------------------------------------------- events and facts

std::string events_of(const std::function<void(Events&)>& use) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  Events events(true, ends[1]);
  use(events);
  close(ends[1]);
  std::string text(65536, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  close(ends[0]);
  return text;
}

TEST(Events, AreOneLineEach) {
  EXPECT_EQ(events_of([](Events& events) {
              events.begin("a/n:1");
              events.end("a/n:1");
              events.bye(1);
            }),
            "@claimcheck {\"event\":\"begin\",\"id\":\"a/n:1\"}\n"
            "@claimcheck {\"event\":\"end\",\"id\":\"a/n:1\"}\n"
            "@claimcheck {\"event\":\"bye\",\"measured\":1}\n");
}

TEST(Events, HeartbeatsComeAtEveryPhaseAndOtherwiseRarely) {
  EXPECT_EQ(events_of([](Events& events) {
              for (int i = 0; i < 100; ++i) events.heartbeat("a", "warm_up");
              for (int i = 0; i < 100; ++i) events.heartbeat("a", "measure");
            }),
            "@claimcheck {\"event\":\"heartbeat\",\"id\":\"a\",\"phase\":\"warm_up\"}\n"
            "@claimcheck {\"event\":\"heartbeat\",\"id\":\"a\",\"phase\":\"measure\"}\n");
}

TEST(Events, AreValidUtf8WhateverALibrarySays) {
  const std::string text = events_of([](Events& events) { events.measurement({{"reason", "bad \xff\xfe byte"}}); });
  EXPECT_THAT(text, HasSubstr("bad \xef\xbf\xbd"));
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(FactsJson, TheUnknownIsNull) {
  const kernels::Facts facts = {{"a_mhz", std::monostate{}},
                                {"b", true},
                                {"c", std::int64_t{3}},
                                {"d", 2.5},
                                {"e", std::numeric_limits<double>::quiet_NaN()},
                                {"f", std::string("text")},
                                {"g", std::vector<double>{1, 2}}};
  EXPECT_EQ(to_json(facts).dump(), R"({"a_mhz":null,"b":true,"c":3,"d":2.5,"e":null,"f":"text","g":[1.0,2.0]})");
}

// ---------------------------------------------------------------------------------------------- passes

TEST(FindPasses, FillsTheTimeWanted) {
  EXPECT_EQ(find_passes([](int passes) { return passes * 1e-5; }, 2e-3), 200);
  EXPECT_EQ(find_passes([](int passes) { return passes * 1e-5; }, 1e-4), 10);
  EXPECT_EQ(find_passes([](int passes) { return passes * 5e-3; }, 2e-3), 1);
  EXPECT_EQ(find_passes([](int passes) { return passes * 1e-9; }, 2e-3), 400) << "what a stream surely holds";
  EXPECT_EQ(find_passes([](int passes) { return passes * 1e-9; }, 2e-3, 20), 20);
}

TEST(FindPasses, LooksAgainWhereStartingTakesMostOfTheTime) {
  // 50 us to start, 6 us a pass: from one pass alone 36 passes would seem enough.
  EXPECT_GT(find_passes([](int passes) { return 50e-6 + passes * 6e-6; }, 2e-3), 300);
}

TEST(WantedSeconds, ShrinkWithTheMinimumTime) {
  Options options;
  options.min_time_seconds = 0.5;
  EXPECT_DOUBLE_EQ(wanted_seconds(options), 2e-3);
  options.min_time_seconds = 0.01;
  EXPECT_DOUBLE_EQ(wanted_seconds(options), 2e-4);
}

}  // namespace
}  // namespace claimcheck::bench

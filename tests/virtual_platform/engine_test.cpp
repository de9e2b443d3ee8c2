// The engine by itself. Every test has a GPU of its own, since errors stay with a GPU.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include "tests/virtual_platform/engine/clock.h"
#include "tests/virtual_platform/engine/identity.h"
#include "tests/virtual_platform/engine_test_support.h"

namespace virtual_platform::test {
namespace {

TEST(Memory, NewMemoryIsPoisoned) {
  Stream& stream = *make_stream(0);
  const auto* fresh = memory_on<unsigned char>(0, 3000);
  const std::vector<unsigned char> values = contents(stream, fresh, 3000);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0xff), 3000);
}

TEST(MemoryDeathTest, TheHostCannotReadGpuMemory) {
  const auto* address = memory_on<volatile int>(0, 64);
  EXPECT_EXIT(static_cast<void>(*address), testing::KilledBySignal(SIGSEGV), "");
}

TEST(Memory, PinnedMemoryIsTheHostsToo) {
  Stream& stream = *make_stream(0);
  auto* pinned = memory_on<double>(host, bytes);
  auto* device_memory = memory_on<double>(0, bytes);
  std::iota(pinned, pinned + count, 0.0);
  copy(stream, device_memory, pinned, bytes);
  ASSERT_EQ(synchronise(stream), 0);
  std::fill_n(pinned, count, -1.0);
  copy(stream, pinned, device_memory, bytes);
  ASSERT_EQ(synchronise(stream), 0);
  EXPECT_EQ(pinned[count - 1], count - 1);
}

TEST(Memory, ItRunsOut) {
  const std::size_t all = 256U << 20;  // the spec's
  EXPECT_EQ(memory_on<char>(1, all + 1), nullptr);
  auto* most = memory_on<char>(1, all);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(memory_on<char>(1, 1), nullptr);
  const std::lock_guard lock(engine_mutex());
  EXPECT_TRUE(release(most));
  EXPECT_FALSE(release(most));
  EXPECT_EQ(allocated_bytes(1), 0U);
}

TEST(Effects, WorkIsLazy) {
  Stream& stream = *make_stream(2);
  auto* source = memory_on<double>(2, bytes);
  auto* pinned = memory_on<double>(host, bytes);
  fill(stream, source, 7);
  pinned[0] = 1;
  copy(stream, pinned, source, bytes);
  EXPECT_EQ(pinned[0], 1) << "a program that does not wait sees what was there before";
  // Waiting for another stream of the same GPU does not help.
  Stream& other = *make_stream(2);
  mark(other);
  ASSERT_EQ(synchronise(other), 0);
  EXPECT_EQ(pinned[0], 1);
  ASSERT_EQ(synchronise(stream), 0);
  EXPECT_EQ(pinned[0], 7);
}

TEST(Effects, WaitingForAStreamThatWaitedForAnotherIsEnough) {
  Stream& first = *make_stream(2);
  Stream& second = *make_stream(2);
  auto* source = memory_on<double>(2, bytes);
  auto* pinned = memory_on<double>(host, bytes);
  fill(first, source, 7);
  pinned[0] = 1;
  copy(first, pinned, source, bytes);
  wait_for(second, mark(first));
  mark(second);
  ASSERT_EQ(synchronise(second), 0);
  EXPECT_EQ(pinned[0], 7);
}

void eager_copy_is_seen_at_once() {
  setenv("CLAIMCHECK_VIRTUAL_MODE", "eager", 1);
  Stream& stream = *make_stream(2);
  auto* source = memory_on<double>(2, bytes);
  auto* pinned = memory_on<double>(host, bytes);
  fill(stream, source, 7);
  pinned[0] = 1;
  copy(stream, pinned, source, bytes);
  std::exit(pinned[0] == 7 ? 0 : 1);
}

TEST(EffectsDeathTest, EagerWorkIsSeenAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(eager_copy_is_seen_at_once(), testing::ExitedWithCode(0), "");
}

TEST(Effects, WhatNobodyReadsIsNotComputed) {
  Stream& stream = *make_stream(3);
  auto* pinned = memory_on<double>(host, bytes);
  auto* target = memory_on<double>(3, bytes);
  int computed = 0;
  const auto write = [&](double value) {
    Work work{.kind = {}, .name = "write"};
    work.footprint = std::make_shared<Footprint>(Footprint{{}, {range(target, bytes)}});
    work.identity = Identity("write").add(target).value();
    work.effect = [&computed, target, value] {
      ++computed;
      std::fill_n(accessible(target), count, value);
    };
    enqueue(stream, std::move(work));
  };
  for (int i = 0; i < 1000; ++i) write(i);
  ASSERT_EQ(synchronise(stream), 0);
  EXPECT_EQ(computed, 0);
  write(1000);
  copy(stream, pinned, target, bytes);  // reads what the last one wrote
  write(1001);
  write(1002);
  ASSERT_EQ(synchronise(stream), 0);
  EXPECT_EQ(pinned[5], 1000);
  EXPECT_EQ(computed, 1);
  EXPECT_EQ(contents(stream, target, count)[5], 1002);
  EXPECT_EQ(computed, 2);
}

TEST(Effects, LeavingOutDeadWritesGivesTheSameData) {
  Stream& stream = *make_stream(3);
  auto* a = memory_on<double>(3, bytes);
  auto* b = memory_on<double>(3, bytes);
  auto* c = memory_on<double>(3, bytes);
  fill(stream, a, 1);
  for (int round = 1; round <= 20; ++round) {
    scale(stream, b, a, round);  // dead but for the last
    scale(stream, c, b, 2);      // dead but for the last
    if (round == 10) launch(stream, increment_kernel, count / 256, 256, a, count);
  }
  EXPECT_EQ(contents(stream, c, count)[count - 1], 20 * 2 * (1 + 1));
  EXPECT_EQ(contents(stream, b, count)[0], 20 * (1 + 1));
  launch(stream, increment_kernel, count / 256, 256, c, count);
  launch(stream, increment_kernel, count / 256, 256, c, count);
  EXPECT_EQ(contents(stream, c, count)[1], 82) << "increments read what they write: none is left out";
}

TEST(Effects, OnlyThePartsLookedAtAreComputed) {
  Stream& stream = *make_stream(3);
  auto* values = memory_on<double>(3, bytes);
  auto* pinned = memory_on<double>(host, bytes);
  constexpr long part = count / 4;
  std::vector<int> computed;
  std::vector<bool> done(4);
  const auto compute = [&](std::span<const Range> wanted) {
    for (long i = 0; i < 4; ++i) {
      const Range mine = range(values + i * part, part * sizeof(double));
      const bool hit = std::any_of(wanted.begin(), wanted.end(), [&](const Range& one) { return one.overlaps(mine); });
      if (done[static_cast<std::size_t>(i)] || !hit) continue;
      done[static_cast<std::size_t>(i)] = true;
      computed.push_back(static_cast<int>(i));
      std::fill_n(accessible(values + i * part), part, 10.0 + static_cast<double>(i));
    }
    return std::count(done.begin(), done.end(), true) == 4;
  };
  Work work{.kind = {}, .name = "parts"};
  work.footprint = std::make_shared<Footprint>(Footprint{{}, {range(values, bytes)}});
  work.effect = [&] { compute(std::vector<Range>{range(values, bytes)}); };
  work.partly = compute;
  enqueue(stream, std::move(work));
  EXPECT_EQ(contents(stream, values + 2 * part, 1)[0], 12);
  EXPECT_EQ(computed, std::vector<int>({2}));
  pinned[0] = 5;
  copy(stream, values + part, pinned, sizeof(double));  // over the beginning of part 1
  EXPECT_EQ(contents(stream, values + part, 2), std::vector<double>({5, 11}));
  EXPECT_EQ(computed, std::vector<int>({2, 1}));
  const std::vector<double> all = contents(stream, values, count);
  EXPECT_EQ(all[0], 10);
  EXPECT_EQ(all[part], 5) << "a part that was computed is not computed again";
  EXPECT_EQ(all[count - 1], 13);
}

TEST(Effects, WhatIsWhollyOverwrittenIsNotComputed) {
  Stream& stream = *make_stream(3);
  auto* values = memory_on<double>(3, bytes);
  int computed = 0;
  Work work{.kind = {}, .name = "first"};
  work.footprint = std::make_shared<Footprint>(Footprint{{}, {range(values, bytes)}});
  work.effect = [&computed] { ++computed; };
  enqueue(stream, std::move(work));
  Work over{.kind = {}, .name = "over"};
  over.footprint = std::make_shared<Footprint>(Footprint{{}, {range(values, bytes)}});
  over.effect = [values] { std::fill_n(accessible(values), count, 3.0); };
  over.covers = true;
  enqueue(stream, std::move(over));
  EXPECT_EQ(contents(stream, values, 1)[0], 3);
  EXPECT_EQ(computed, 0);
}

TEST(Time, OfAKernelIsItsTrafficByTheRate) {
  Stream& stream = *make_stream(4);
  auto* a = memory_on<double>(4, bytes);
  auto* b = memory_on<double>(4, bytes);
  fill(stream, a, 1);
  scale(stream, b, a, 2);
  const OperationPointer start = mark(stream);
  for (int i = 0; i < 10; ++i) scale(stream, b, a, 2);
  const OperationPointer stop = mark(stream);
  ASSERT_EQ(synchronise(stream), 0);
  // 2 MiB each at 1000 GB/s; the spec has no gap between kernels.
  EXPECT_NEAR(end_of(*stop) - end_of(*start), 10 * 2 * 1048576 / 1e12, 1e-7);
}

TEST(Time, BehindAGateWorkRunsBackToBack) {
  Stream& one = *make_stream(4);
  Stream& other = *make_stream(5);
  std::atomic<bool> open = false;
  OperationPointer starts[2];
  OperationPointer stops[2];
  Stream* streams[] = {&one, &other};
  for (int i = 0; i < 2; ++i) {
    enqueue(*streams[i], Work{.kind = {}, .name = "gate", .ready = [&open] { return open.load(); }});
    starts[i] = mark(*streams[i]);
    for (int kernel = 0; kernel < 100; ++kernel) {
      host_advance(1e-3);  // enqueueing takes long
      enqueue(*streams[i], Work{.kind = "kernel", .name = "k", .seconds = [](double) { return 2e-6; }});
    }
    stops[i] = mark(*streams[i]);
  }
  EXPECT_FALSE(is_done(one));
  open = true;
  ASSERT_EQ(synchronise(one), 0);
  ASSERT_EQ(synchronise(other), 0);
  EXPECT_NEAR(end_of(*stops[0]) - end_of(*starts[0]), 200e-6, 1e-9);
  EXPECT_NEAR(end_of(*stops[1]) - end_of(*starts[1]), 200e-6, 1e-9);
  EXPECT_DOUBLE_EQ(end_of(*starts[0]), end_of(*starts[1]));
}

// The spec's host link does 55.3 and 55.2 GB/s, 98 in both directions together.
TEST(Time, OppositeCopiesShareALink) {
  std::atomic<bool> open = false;
  OperationPointer starts[2];
  OperationPointer stops[2];
  Stream* streams[] = {make_stream(5), make_stream(5)};
  const Flow flows[] = {{host, 5}, {5, host}};
  for (int i = 0; i < 2; ++i) {
    enqueue(*streams[i], Work{.kind = {}, .name = "gate", .ready = [&open] { return open.load(); }});
    starts[i] = mark(*streams[i]);
    for (int n = 0; n < 10; ++n) {
      Work work{.kind = "copy", .name = "copy"};
      work.engines = {{5, i == 0 ? Engine::h2d : Engine::d2h}};
      work.flows = {flows[i]};
      work.seconds = [flow = flows[i]](double start) { return 1e6 / (flow_gbps(flow, start) * 1e9); };
      enqueue(*streams[i], std::move(work));
    }
    stops[i] = mark(*streams[i]);
  }
  open = true;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(synchronise(*streams[i]), 0);
    EXPECT_NEAR(end_of(*stops[i]) - end_of(*starts[i]), 10e6 / 49e9, 1e-8);
  }
}

TEST(TimeDeathTest, AFullQueueBehindAGateIsTheProgramsMistake) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto overfill = [] {
    Stream& stream = *make_stream(4);
    enqueue(stream, Work{.kind = {}, .name = "gate", .ready = [] { return false; }});
    for (int i = 0; i < 1024; ++i) mark(stream);
  };
  EXPECT_DEATH(overfill(), "1024 operations are enqueued behind a closed gate");
}

TEST(Time, AMeetingStartsWithTheLast) {
  Stream& one = *make_stream(4);
  Stream& other = *make_stream(5);
  const auto meeting = std::make_shared<Meeting>();
  meeting->expected = 2;
  meeting->seconds = 1e-3;
  int effects = 0;
  meeting->effect = [&effects] { ++effects; };
  enqueue(one, Work{.kind = "collective", .name = "all", .meeting = meeting});
  EXPECT_FALSE(is_done(one));
  enqueue(other, Work{.kind = "kernel", .name = "k", .seconds = [](double) { return 5e-3; }});
  const OperationPointer before = mark(other);
  enqueue(other, Work{.kind = "collective", .name = "all", .meeting = meeting});
  const OperationPointer after = mark(one);
  ASSERT_EQ(synchronise(one), 0);
  ASSERT_EQ(synchronise(other), 0);
  EXPECT_NEAR(end_of(*after) - end_of(*before), 1e-3, 1e-9);
  EXPECT_EQ(effects, 1);
}

}  // namespace
}  // namespace virtual_platform::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Tests run side by side, each in a process of its own.
  const std::filesystem::path spec =
      std::filesystem::path(testing::TempDir()) / ("claimcheck_engine_test_" + std::to_string(getpid()) + ".json");
  std::ofstream(spec) << R"({"extends": ")" CLAIMCHECK_SPECS R"(/p5.json", "gpu": {"memory_gbps": 1000.0},
                            "times": {"gap_us": 0, "kernel_floor_us": 1}})";
  setenv("CLAIMCHECK_VIRTUAL_SPEC", spec.c_str(), 1);
  const int failures = RUN_ALL_TESTS();
  std::filesystem::remove(spec);
  return failures;
}

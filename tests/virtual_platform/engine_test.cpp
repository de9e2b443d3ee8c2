// The engine and the emulator by themselves. Every test has a GPU of its own, since errors stay with a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include "tests/virtual_platform/emulator/launch.h"
#include "tests/virtual_platform/engine/clock.h"
#include "tests/virtual_platform/engine/identity.h"
#include "tests/virtual_platform/engine/stream.h"
#include "tests/virtual_platform/engine_test_kernels.h"

namespace virtual_platform::test {
namespace {

constexpr long count = 1 << 17;  // doubles: 1 MiB
constexpr std::size_t bytes = count * sizeof(double);

template <class T>
T* memory_on(int device_index, std::size_t size) {
  const std::lock_guard lock(engine_mutex());
  return static_cast<T*>(allocate(device_index, size));
}

void copy(Stream& stream, void* to, const void* from, std::size_t size) {
  Work work{.kind = "copy", .name = "test copy"};
  work.footprint = std::make_shared<Footprint>(Footprint{{range(from, size)}, {range(to, size)}});
  work.effect = [=] { std::memcpy(accessible(static_cast<std::byte*>(to)), accessible(from), size); };
  work.seconds = [](double) { return 1e-5; };
  enqueue(stream, std::move(work));
}

template <class... Values>
int launch(Stream& stream, const CompiledKernel& kernel, unsigned blocks, unsigned threads, Values... values) {
  void* arguments[] = {static_cast<void*>(&values)...};
  return enqueue(stream, launch_work(device_of(stream), kernel, {blocks, 1, 1}, {threads, 1, 1}, arguments));
}

void scale(Stream& stream, double* to, const double* from, double factor) {
  ASSERT_EQ(launch(stream, scale_kernel, 16, 256, to, from, factor, count), 0);
}

template <class T>
std::vector<T> contents(Stream& stream, const T* from, std::size_t elements) {
  std::vector<T> values(elements);
  copy(stream, values.data(), from, elements * sizeof(T));
  EXPECT_EQ(synchronise(stream), 0);
  return values;
}

void fill(Stream& stream, double* to, double value) {
  const std::vector<double> values(count, value);
  copy(stream, to, values.data(), bytes);
  ASSERT_EQ(synchronise(stream), 0);
}

OperationPointer mark(Stream& stream) {
  OperationPointer operation;
  enqueue(stream, Work{.kind = {}, .name = "mark"}, &operation);
  return operation;
}

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

TEST(Kernels, ThreadsMeet) {
  Stream& stream = *make_stream(5);
  auto* values = memory_on<int>(5, 256 * sizeof(int));
  auto* sums = memory_on<int>(5, 8 * sizeof(int));
  std::vector<int> input(256);
  std::iota(input.begin(), input.end(), 0);
  copy(stream, values, input.data(), 256 * sizeof(int));
  ASSERT_EQ(synchronise(stream), 0);
  launch(stream, reverse_kernel, 1, 256, values);
  launch(stream, warp_sum_kernel, 1, 256, values, sums);
  std::reverse(input.begin(), input.end());
  EXPECT_EQ(contents(stream, values, 256), input);
  std::vector<int> expected;
  for (int warp = 0; warp < 8; ++warp)
    expected.push_back(std::accumulate(input.begin() + 32 * warp, input.begin() + 32 * (warp + 1), 0));
  EXPECT_EQ(contents(stream, sums, 8), expected);
  launch(stream, gather_kernel, 1, 32, values);
  const std::vector<int> gathered = contents(stream, values, 32);
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(gathered[static_cast<std::size_t>(lane)], (31 - lane) * (31 - lane));
}

// What a GPU reports as an illegal address stays: every later call fails with it.
void expect_illegal(int device_index, const std::function<void(Stream&)>& enqueue_bad) {
  Stream& stream = *make_stream(device_index);
  enqueue_bad(stream);
  constexpr int illegal_address = 700;
  EXPECT_EQ(synchronise(stream), illegal_address);
  EXPECT_EQ(synchronise_device(device_index), illegal_address);
  EXPECT_EQ(enqueue(stream, Work{.kind = {}, .name = "mark"}), illegal_address);
  device(device_index).error = 0;  // for the next case
}

TEST(Kernels, IllegalAddressesAreFound) {
  auto* small = memory_on<double>(6, bytes);
  auto* large = memory_on<double>(6, 2 * bytes);
  expect_illegal(6, [&](Stream& stream) { launch(stream, scale_kernel, 1, 32, small, large, 1.0, count + 1); });
  expect_illegal(6, [&](Stream& stream) {
    scale(stream, large, small, 1);
    ASSERT_EQ(synchronise(stream), 0);
    const std::lock_guard lock(engine_mutex());
    forget_memory(range(small, bytes));
    release(small);
    launch(stream, scale_kernel, 16, 256, large, static_cast<const double*>(small), 1.0, count);
  });
  auto* peer = memory_on<double>(7, bytes);
  expect_illegal(6, [&](Stream& stream) { launch(stream, scale_kernel, 1, 32, large, peer, 1.0, count); });
  expect_illegal(6, [&](Stream& stream) { launch(stream, by_memory_kernel, 1, 1, large); });  // poison
  expect_illegal(6, [&](Stream& stream) {
    copy(stream, large, &large, sizeof large);
    launch(stream, by_memory_kernel, 1, 1, large);
  });
  expect_illegal(6, [&](Stream& stream) { launch(stream, half_barrier_kernel, 1, 32, large); });
  device(6).peers = 1U << 7U;
  Stream& stream = *make_stream(6);
  launch(stream, scale_kernel, 1, 32, large, peer, 1.0, count);
  EXPECT_EQ(synchronise(stream), 0);
}

}  // namespace
}  // namespace virtual_platform::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::filesystem::path spec = std::filesystem::path(testing::TempDir()) / "claimcheck_engine_test.json";
  std::ofstream(spec) << R"({"extends": ")" CLAIMCHECK_SPECS R"(/p5.json", "gpu": {"memory_gbps": 1000.0},
                            "times": {"gap_us": 0, "kernel_floor_us": 1}})";
  setenv("CLAIMCHECK_VIRTUAL_SPEC", spec.c_str(), 1);
  return RUN_ALL_TESTS();
}

// Streams, timers and gates: order, errors, deadlines, and what happens to work whose owner is gone.
#include "kernels/host/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/host/team.h"
#include "tests/kernels/support.h"

namespace claimcheck::kernels {
namespace {

using host::Clock;
using host::HostGate;
using host::HostStream;
using host::HostTimer;

TEST(Stream, WorksInOrderAndApartFromTheCaller) {
  HostStream stream;
  std::vector<int> order;
  std::thread::id worker;
  std::promise<void> go;
  stream.enqueue([&, ready = go.get_future().share()](const std::stop_token&) { ready.wait(); });
  for (int i = 0; i < 100; ++i) stream.enqueue([&order, i](const std::stop_token&) { order.push_back(i); });
  stream.enqueue([&](const std::stop_token&) { worker = std::this_thread::get_id(); });
  EXPECT_FALSE(stream.wait_until(Clock::now()));  // enqueueing did not wait for the work
  go.set_value();
  stream.wait(test::patience);
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(Stream, WaitRethrowsTheFirstErrorOnce) {
  HostStream stream;
  bool later_ran = false;
  stream.enqueue([](const std::stop_token&) { throw std::runtime_error("first"); });
  stream.enqueue([](const std::stop_token&) { throw std::runtime_error("second"); });
  stream.enqueue([&](const std::stop_token&) { later_ran = true; });
  try {
    stream.wait(test::patience);
    FAIL() << "the error was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_TRUE(later_ran);
  stream.wait(test::patience);
}

TEST(Stream, WaitEndsAtItsDeadline) {
  const auto platform = open_platform({});
  const auto stream = platform->devices()[0]->make_stream();
  const auto gate = platform->make_gate();
  gate->hold(*stream);
  const auto start = Clock::now();
  const Error error = test::error_of([&] { stream->wait(Duration(0.05)); });
  EXPECT_EQ(error.detail().outcome, Outcome::timed_out);
  EXPECT_NE(std::string(error.what()).find("within 0.05 s"), std::string::npos) << error.what();
  const double waited = Duration(Clock::now() - start).count();
  EXPECT_GE(waited, 0.05);
  EXPECT_LT(waited, 5.0);
  // Gate and stream end here in either order, without being opened.
}

TEST(Stream, TheSameStreamWorksOnAfterADeadline) {
  HostStream stream;
  HostGate gate;
  gate.hold(stream);
  bool ran = false;
  stream.enqueue([&](const std::stop_token&) { ran = true; });
  EXPECT_THROW(stream.wait(Duration(0.01)), Error);
  gate.open();
  stream.wait(test::patience);
  EXPECT_TRUE(ran);
}

TEST(Stream, CanEndWhileAGateThatOutlivesItHoldsIt) {
  HostGate gate;
  HostStream stream;
  gate.hold(stream);
}

TEST(Stream, BuffersMayGoWhileWorkUsesThem) {
  const auto platform = open_platform({});
  Device& device = *platform->devices()[0];
  const auto gate = platform->make_gate();
  const auto stream = device.make_stream();
  gate->hold(*stream);
  {
    const auto buffer = device.allocate(std::size_t{4} << 20);
    device.fill(*stream, *buffer, DataType::fp32, Pattern::normal, 1);
  }
  gate->open();
  stream->wait(test::patience);  // a page fault, had the memory gone
}

TEST(Timer, MeasuresTheWorkBetweenItsTwoPoints) {
  HostStream stream;
  HostTimer timer;
  EXPECT_THROW(timer.seconds(), Error);
  Clock::time_point before;
  Clock::time_point after;
  timer.start(stream);
  stream.enqueue([&](const std::stop_token&) {
    before = Clock::now();
    while (Clock::now() - before < std::chrono::milliseconds(20)) continue;
    after = Clock::now();
  });
  timer.stop(stream);
  stream.wait(test::patience);
  EXPECT_GE(timer.seconds(), Duration(after - before).count());
  EXPECT_LT(timer.seconds(), 2.0);
  timer.start(stream);
  timer.stop(stream);
  stream.wait(test::patience);
  EXPECT_LT(timer.seconds(), 0.02);  // nothing in between: the second use does not see the first
}

TEST(Gate, StartsAllStreamsTogether) {
  constexpr std::size_t streams = 4;
  std::vector<std::unique_ptr<HostStream>> held;
  HostGate gate;
  std::atomic<int> started{0};
  for (std::size_t i = 0; i < streams; ++i) {
    held.push_back(std::make_unique<HostStream>());
    gate.hold(*held.back());
    held.back()->enqueue([&](const std::stop_token&) { ++started; });
  }
  EXPECT_FALSE(held[0]->wait_until(Clock::now() + std::chrono::milliseconds(5)));
  EXPECT_EQ(started, 0);
  gate.open();
  for (const auto& stream : held) stream->wait(test::patience);
  EXPECT_EQ(started, static_cast<int>(streams));
}

TEST(Team, EveryThreadRunsEveryJobOnce) {
  host::Team team({0, 0, 0});  // three threads on one core: the worst case for spinning
  std::vector<int> runs(3);
  for (int job = 0; job < 200; ++job) team.run([&](int thread) { ++runs[static_cast<std::size_t>(thread)]; });
  EXPECT_EQ(runs, (std::vector<int>{200, 200, 200}));
}

TEST(Team, SharesCoverEverythingOnceAndStartAtGranules) {
  for (const std::size_t count : {0U, 1U, 511U, 512U, 513U, 5000U, 99999U})
    for (const int threads : {1, 2, 3, 7, 64}) {
      std::size_t next = 0;
      for (int thread = 0; thread < threads; ++thread) {
        const host::Share share = host::share_of(count, thread, threads, 512);
        ASSERT_EQ(share.first, next);
        if (share.count > 0) {
          ASSERT_EQ(share.first % 512, 0U);
        }
        next += share.count;
      }
      ASSERT_EQ(next, count);
    }
}

}  // namespace
}  // namespace claimcheck::kernels

// Streams, timers and gates of the host: a stream is a thread that works through a queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::kernels::host {

using Clock = std::chrono::steady_clock;

// The point of time `deadline` from now; far in the future when it is too long to count.
Clock::time_point time_after(Duration deadline);

class HostStream final : public Stream {
 public:
  // `closing` is set while the stream is destroyed: work that waits for others gives up.
  using Work = std::function<void(const std::stop_token& closing)>;

  HostStream();
  ~HostStream() override;  // drops what has not begun, waits for what has
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void enqueue(Work work);
  void wait(Duration deadline) override;
  // False past the deadline; throws the first error of the work.
  bool wait_until(Clock::time_point deadline);

 private:
  void work_through(const std::stop_token& closing);

  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::condition_variable finished_;
  std::deque<Work> queue_;
  bool busy_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others
};

HostStream& host(Stream& stream);

class HostTimer final : public Timer {
 public:
  void start(Stream& stream) override;
  void stop(Stream& stream) override;
  double seconds() const override;

 private:
  struct Times {
    std::atomic<Clock::duration::rep> start{0};
    std::atomic<Clock::duration::rep> stop{0};
  };
  std::shared_ptr<Times> times_ = std::make_shared<Times>();  // outlives the timer while work refers to it
};

class HostGate final : public Gate {
 public:
  ~HostGate() override;  // opens: nothing could open it later
  void hold(Stream& stream) override;
  void open() override;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable_any opened;
    bool is_open = false;
    int held = 0;
    std::atomic<int> ready{0};  // held streams that have woken up
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace claimcheck::kernels::host

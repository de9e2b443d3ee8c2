#include "kernels/host/stream.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/host/team.h"

namespace claimcheck::kernels::host {

Clock::time_point time_after(Duration deadline) {
  constexpr Duration longest = std::chrono::hours(24 * 365);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(deadline < longest ? deadline : longest);
}

HostStream::HostStream() : thread_([this](const std::stop_token& closing) { work_through(closing); }) {}

HostStream::~HostStream() = default;

void HostStream::enqueue(Work work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  arrived_.notify_one();
}

bool HostStream::wait_until(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!finished_.wait_until(lock, deadline, [this] { return queue_.empty() && !busy_; })) return false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return true;
}

void HostStream::wait(Duration deadline) {
  if (wait_until(time_after(deadline))) return;
  throw Error({.outcome = Outcome::timed_out,
               .library = "claimcheck",
               .code = {},
               .text = fmt::format("work on the CPU did not end within {:g} s", deadline.count()),
               .remedy = "see whether the machine is busy with something else, or allow a longer deadline"});
}

void HostStream::work_through(const std::stop_token& closing) {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, closing, [this] { return !queue_.empty(); });
    if (closing.stop_requested()) return;
    {
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      std::exception_ptr error;
      try {
        work(closing);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error && !error_) error_ = error;
    }
    busy_ = false;
    if (queue_.empty()) finished_.notify_all();
  }
}

HostStream& host(Stream& stream) { return static_cast<HostStream&>(stream); }

void HostTimer::start(Stream& stream) {
  host(stream).enqueue([times = times_](const std::stop_token&) {
    times->stop = 0;
    times->start = Clock::now().time_since_epoch().count();
  });
}

void HostTimer::stop(Stream& stream) {
  host(stream).enqueue(
      [times = times_](const std::stop_token&) { times->stop = Clock::now().time_since_epoch().count(); });
}

double HostTimer::seconds() const {
  const auto start = times_->start.load();
  const auto stop = times_->stop.load();
  if (start == 0 || stop == 0)
    throw Error({.outcome = Outcome::failed,
                 .library = "claimcheck",
                 .code = {},
                 .text = "a timer was read before it was started and stopped",
                 .remedy = "wait for the stream between stop() and seconds()"});
  return Duration(Clock::duration(stop - start)).count();
}

HostGate::~HostGate() { open(); }

void HostGate::hold(Stream& stream) {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->held;
  }
  host(stream).enqueue([state = state_](const std::stop_token& closing) {
    int held = 0;
    {
      std::unique_lock lock(state->mutex);
      state->opened.wait(lock, closing, [&] { return state->is_open; });
      held = state->held;
    }
    // Threads wake one after another; the first ones look out for the others, so that all go on at the same moment.
    // Not for long: a stream may still be busy with what was enqueued before the gate.
    ++state->ready;
    const auto longest = Clock::now() + std::chrono::milliseconds(2);
    for (Patience patience; state->ready.load() < held && Clock::now() < longest;) patience.pause();
  });
}

void HostGate::open() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_open = true;
  }
  state_->opened.notify_all();
}

}  // namespace claimcheck::kernels::host

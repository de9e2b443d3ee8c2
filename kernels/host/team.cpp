#include "kernels/host/team.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "kernels/host/cpu.h"

namespace claimcheck::kernels::host {

namespace {

// About 50 us of spinning on current CPUs: longer than the gap between two jobs of one iteration.
constexpr unsigned looks_before_sleep = 1500;

thread_local int pinned_to = -1;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores
#endif
}

}  // namespace

void Patience::pause() {
  constexpr unsigned looks_before_yield = 4000;
  constexpr unsigned looks_before_nap = 50000;
  ++looks_;
  if (looks_ < looks_before_yield) {
    relax();
  } else if (looks_ < looks_before_nap) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void pin_this_thread(int core) {
  if (pinned_to == core) return;
  bind_to({core});
  pinned_to = core;
}

void unpin_this_thread(const std::vector<int>& cpus) {
  if (pinned_to == -1) return;
  bind_to(cpus);
  pinned_to = -1;
}

Share share_of(std::size_t count, int thread, int threads, std::size_t granule) {
  const std::size_t granules = count / granule + (count % granule != 0 ? 1 : 0);
  const auto border = [&](int t) {
    // granules * t would overflow only for sizes no machine has.
    return std::min(count, granules * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads) * granule);
  };
  const std::size_t first = border(thread);
  return {first, border(thread + 1) - first};
}

Team::Team(std::vector<int> cores) : cores_(std::move(cores)) {
  for (int thread = 1; thread < size(); ++thread) workers_.emplace_back([this, thread] { work(thread); });
}

Team::~Team() {
  ending_ = true;
  job_.fetch_add(1, std::memory_order_release);
  job_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::start_and_join(Call call, const void* context) {
  const std::lock_guard lock(turn_);
  pin_this_thread(cores_.front());
  call_ = call;
  context_ = context;
  if (!workers_.empty()) {
    busy_.store(size() - 1, std::memory_order_relaxed);
    job_.fetch_add(1, std::memory_order_release);
    job_.notify_all();
  }
  call(context, 0);
  for (Patience patience; busy_.load(std::memory_order_acquire) != 0;) patience.pause();
}

void Team::work(int thread) {
  pin_this_thread(cores_[static_cast<std::size_t>(thread)]);
  unsigned done = 0;
  for (;;) {
    for (unsigned look = 0; look < looks_before_sleep && job_.load(std::memory_order_acquire) == done; ++look) relax();
    job_.wait(done, std::memory_order_acquire);
    // Jobs are not started before the last one is done by all, so none is ever missed.
    ++done;
    if (ending_) return;
    call_(context_, thread);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace claimcheck::kernels::host

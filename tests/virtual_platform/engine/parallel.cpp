#include "tests/virtual_platform/engine/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace virtual_platform {

namespace {

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, 16);
}

thread_local bool inside = false;

class Helpers {
 public:
  Helpers() {
    for (int i = 1; i < usable_cores(); ++i) std::thread([this] { serve(); }).detach();
  }

  void run(std::size_t count, const std::function<void(std::size_t)>& work) {
    const std::lock_guard one_at_a_time(turn_);
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      count_ = count;
      next_ = 0;
      busy_ = 0;
      ++round_;
    }
    wake_.notify_all();
    inside = true;
    take_part(work, count);
    inside = false;
    std::unique_lock lock(mutex_);
    work_ = nullptr;  // who wakes up now comes too late
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void take_part(const std::function<void(std::size_t)>& work, std::size_t count) {
    for (std::size_t i = next_++; i < count; i = next_++) work(i);
  }

  [[noreturn]] void serve() {
    inside = true;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (work_ == nullptr) continue;
      const auto* work = work_;
      const std::size_t count = count_;
      ++busy_;
      lock.unlock();
      take_part(*work, count);
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;
  int busy_ = 0;
  std::uint64_t round_ = 0;
};

Helpers& helpers() {
  static Helpers& one = *new Helpers;  // its threads live as long as the process
  return one;
}

}  // namespace

int parallel_threads() {
  static const int cores = usable_cores();
  return cores;
}

void parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count <= 1 || inside || parallel_threads() == 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  helpers().run(count, work);
}

void parallel_pieces(std::size_t size, std::size_t piece, const std::function<void(std::size_t, std::size_t)>& work) {
  parallel((size + piece - 1) / piece, [&](std::size_t i) { work(i * piece, std::min(piece, size - i * piece)); });
}

}  // namespace virtual_platform

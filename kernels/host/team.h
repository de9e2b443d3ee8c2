// Threads that work on one job together, one pinned to each core. The caller is one of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace claimcheck::kernels::host {

// Spins for a short while, then gives the core away between looks, then sleeps between them: cheap when what is waited
// for is near, and harmless when it is not. `ready` is asked again and again until it is true.
class Patience {
 public:
  void pause();

 private:
  unsigned looks_ = 0;
};

// What the threads write is kept in cache lines of its own.
class Team {  // NOLINT(clang-analyzer-optin.performance.Padding)
 public:
  // cores[0] is the caller's: run() binds the calling thread to it.
  explicit Team(std::vector<int> cores);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(cores_.size()); }

  // Calls job(thread) for thread 0 .. size() - 1 at the same time, thread 0 being the caller; returns when all are
  // done. Jobs do not throw. Callers take turns.
  template <class Job>
  void run(const Job& job) {
    start_and_join([](const void* context, int thread) { (*static_cast<const Job*>(context))(thread); }, &job);
  }

 private:
  using Call = void (*)(const void* context, int thread);
  void start_and_join(Call call, const void* context);
  void work(int thread);

  std::vector<int> cores_;
  std::mutex turn_;
  Call call_ = nullptr;
  const void* context_ = nullptr;
  bool ending_ = false;
  alignas(64) std::atomic<unsigned> job_{0};  // counts jobs; the workers wait for it to change
  alignas(64) std::atomic<int> busy_{0};      // workers that have not finished the job
  std::vector<std::thread> workers_;
};

// Binds the calling thread to one core, or to all of `cpus`; does nothing when it already is.
void pin_this_thread(int core);
void unpin_this_thread(const std::vector<int>& cpus);

// The part of `count` items that thread `thread` of `threads` does; borders are multiples of `granule`.
struct Share {
  std::size_t first = 0;
  std::size_t count = 0;
};
Share share_of(std::size_t count, int thread, int threads, std::size_t granule);

}  // namespace claimcheck::kernels::host

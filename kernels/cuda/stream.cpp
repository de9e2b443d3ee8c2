#include "kernels/cuda/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "kernels/cuda/buffer.h"
#include "kernels/cuda/error.h"

namespace claimcheck::kernels::cuda {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> stuck_streams{0};

// Between two looks at a stream: first none, so that short waits end at once; then the core is left to others.
class Patience {
 public:
  void pause() const {
    const Duration waited = Clock::now() - start_;
    if (waited < std::chrono::microseconds(200)) return;
    if (waited < std::chrono::milliseconds(5)) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

 private:
  Clock::time_point start_ = Clock::now();
};

bool is_past(Clock::time_point start, Duration deadline) { return Duration(Clock::now() - start) > deadline; }

}  // namespace

Current::Current(int ordinal) {
  check(cudaGetDevice(&before_));
  if (before_ != ordinal) check(cudaSetDevice(ordinal));
}

Current::~Current() {
  int now = before_;
  ignore(cudaGetDevice(&now));
  if (now != before_) ignore(cudaSetDevice(before_));
}

CudaStream::CudaStream(int ordinal) : ordinal_(ordinal) {
  const Current current(ordinal);
  // Not ordered after the default stream, which libraries may use.
  check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
}

CudaStream::~CudaStream() {
  constexpr Duration longest = std::chrono::seconds(5);
  const auto start = Clock::now();
  cudaError_t status = cudaStreamQuery(handle_);
  for (const Patience patience; status == cudaErrorNotReady && !stuck_ && !is_past(start, longest);
       status = cudaStreamQuery(handle_))
    patience.pause();
  const bool busy = status == cudaErrorNotReady;
  ignore(status);
  if (busy != stuck_) set_stuck(busy);
  ignore(cudaStreamDestroy(handle_));  // returns at once; CUDA ends the stream when its work is done
}

bool CudaStream::done() {
  const cudaError_t status = cudaStreamQuery(handle_);
  if (status == cudaErrorNotReady) {
    ignore(status);
    return false;
  }
  if (stuck_) set_stuck(false);
  check(status);
  return true;
}

void CudaStream::wait(Duration deadline) {
  const auto start = Clock::now();
  for (const Patience patience; !done(); patience.pause()) {
    if (!is_past(start, deadline)) continue;
    if (!stuck_) set_stuck(true);
    throw Error({.outcome = Outcome::timed_out,
                 .library = "claimcheck",
                 .code = {},
                 .text = fmt::format("work on GPU {} did not end within {:g} s", ordinal_, deadline.count()),
                 .remedy = "look for lines with Xid in the kernel log (dmesg), see with nvidia-smi whether others use "
                           "the GPU, or allow a longer deadline",
                 // Later work waits behind it, in calls without a deadline; only the end of this process ends it.
                 .context_dead = true});
  }
}

void CudaStream::set_stuck(bool stuck) {
  stuck_ = stuck;
  stuck_streams += stuck ? 1 : -1;
}

bool any_stuck_work() { return stuck_streams > 0; }

void* CudaStream::scratch(std::size_t size_bytes) {
  if (!scratch_) {
    auto made = allocate_on_gpu(size_bytes, ordinal_);
    const Current current(ordinal_);
    check(cudaMemsetAsync(made->address(), 0, size_bytes, handle_));
    scratch_ = std::move(made);
  }
  return scratch_->address();
}

void wait_for(CudaStream& later, CudaStream& earlier) {
  cudaEvent_t passed = nullptr;
  const Current current(earlier.ordinal());
  check(cudaEventCreateWithFlags(&passed, cudaEventDisableTiming));
  const cudaError_t recorded = cudaEventRecord(passed, earlier.handle());
  const cudaError_t waits = recorded == cudaSuccess ? cudaStreamWaitEvent(later.handle(), passed, 0) : recorded;
  ignore(cudaEventDestroy(passed));  // CUDA keeps it until it has passed
  check(waits);
}

CudaStream& cuda(Stream& stream) { return static_cast<CudaStream&>(stream); }

namespace {

class CudaTimer final : public Timer {
 public:
  explicit CudaTimer(int ordinal) {
    const Current current(ordinal);
    check(cudaEventCreateWithFlags(&start_, cudaEventDefault));
    try {
      check(cudaEventCreateWithFlags(&stop_, cudaEventDefault));
    } catch (...) {
      ignore(cudaEventDestroy(start_));
      throw;
    }
  }
  ~CudaTimer() override {
    ignore(cudaEventDestroy(start_));
    ignore(cudaEventDestroy(stop_));
  }
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  void start(Stream& stream) override {
    stopped_ = false;
    check(cudaEventRecord(start_, cuda(stream).handle()));
    started_ = true;
  }

  void stop(Stream& stream) override {
    check(cudaEventRecord(stop_, cuda(stream).handle()));
    stopped_ = true;
  }

  double seconds() const override {
    float milliseconds = 0;
    const cudaError_t status =
        started_ && stopped_ ? cudaEventElapsedTime(&milliseconds, start_, stop_) : cudaErrorNotReady;
    if (status == cudaErrorNotReady) {
      ignore(status);
      throw Error({.outcome = Outcome::failed,
                   .library = "claimcheck",
                   .code = {},
                   .text = "a timer was read before it was started and stopped",
                   .remedy = "wait for the stream between stop() and seconds()"});
    }
    check(status);
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Timer> make_timer(int ordinal) { return std::make_unique<CudaTimer>(ordinal); }

}  // namespace claimcheck::kernels::cuda

// Several devices at work at once: a stream and a timer each, started together, timed each on its own clock.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/benchmark.h"

namespace claimcheck::bench {

class Lanes {
 public:
  using Enqueue = std::function<void(std::size_t lane, kernels::Stream& stream)>;

  Lanes(kernels::Platform& platform, std::span<kernels::Device* const> devices, kernels::Duration deadline);

  std::size_t size() const { return lanes_.size(); }
  kernels::Device& device(std::size_t lane) { return *lanes_[lane].device; }
  kernels::Stream& stream(std::size_t lane) { return *lanes_[lane].stream; }
  std::span<kernels::Stream* const> streams() { return streams_; }
  std::vector<kernels::Device*> devices() const;

  // Enqueues on the first `count` lanes (all by default), starts them together, waits, and returns their seconds. Held
  // back until all is enqueued, on a GPU also when alone: what it costs the host to enqueue is not the device's time.
  std::vector<double> run(const Enqueue& enqueue, std::size_t count = 0);
  // The same on these lanes; seconds in their order.
  std::vector<double> run(const Enqueue& enqueue, std::span<const std::size_t> chosen);
  // On one lane and not held back: what the host needs to enqueue counts.
  double run_freely(const Enqueue& enqueue, std::size_t lane);
  // What enqueue_all() puts on every stream belongs together (collectives), and so does the wait. Not held back: the
  // ranks wait for each other anyway, and a library that connects on first use could wait for a held stream for ever.
  std::vector<double> run_together(const std::function<void()>& enqueue_all, const std::function<void()>& wait);
  void wait();
  // What the last run took by the host's clock, from the start of the devices to the end of the wait.
  double host_seconds() const { return host_seconds_; }

 private:
  struct Lane {
    kernels::Device* device;
    std::unique_ptr<kernels::Stream> stream;
    std::unique_ptr<kernels::Timer> timer;
  };

  kernels::Platform& platform_;
  kernels::Duration deadline_;
  std::vector<Lane> lanes_;
  std::vector<kernels::Stream*> streams_;
  double host_seconds_ = 0;
};

double slowest(std::span<const double> seconds);  // 0: of none

// How long an iteration should last, so that starting it (microseconds) is small against it: 2 ms, or a fiftieth of a
// repetition where those are turned down.
double wanted_seconds(const Options& options);

// A stream of a GPU holds about a thousand pending launches, and a launch beyond that waits: for ever behind a gate.
inline constexpr int most_passes = 400;

// How often an operation is enqueued between one start and stop of the timer, so that this lasts `wanted` seconds.
// `seconds_of` takes passes and returns what they took; it is asked a few times, since one pass alone tells little, and
// the best of each time counts. At most `most`.
int find_passes(const std::function<double(int passes)>& seconds_of, double wanted, int most = most_passes);

// Buffers of each device may take this much: four fifths of its free memory, shared by those that share the memory, and
// the user's limit.
std::size_t memory_limit(const kernels::Device& device, std::size_t sharing, std::size_t max_bytes);

bool is_gpu(const kernels::Platform& platform);

// Throws unsupported with `reason` on anything but GPUs.
void require_gpu(const kernels::Platform& platform, const char* reason);

}  // namespace claimcheck::bench

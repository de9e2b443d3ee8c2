#include "bench/lanes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace claimcheck::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Lanes::Lanes(kernels::Platform& platform, std::span<kernels::Device* const> devices, kernels::Duration deadline)
    : platform_(platform), deadline_(deadline) {
  for (kernels::Device* device : devices) {
    lanes_.push_back({device, device->make_stream(), device->make_timer()});
    streams_.push_back(lanes_.back().stream.get());
  }
}

std::vector<kernels::Device*> Lanes::devices() const {
  std::vector<kernels::Device*> result;
  result.reserve(lanes_.size());
  for (const Lane& lane : lanes_) result.push_back(lane.device);
  return result;
}

std::vector<double> Lanes::run(const Enqueue& enqueue, std::size_t count) {
  std::vector<std::size_t> chosen(count == 0 ? lanes_.size() : count);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  return run(enqueue, chosen);
}

std::vector<double> Lanes::run(const Enqueue& enqueue, std::span<const std::size_t> chosen) {
  const bool held = chosen.size() > 1 || is_gpu(platform_);
  const std::unique_ptr<kernels::Gate> gate = held ? platform_.make_gate() : nullptr;
  Clock::time_point start = Clock::now();
  try {
    for (const std::size_t i : chosen) {
      const Lane& lane = lanes_[i];
      if (gate) gate->hold(*lane.stream);
      lane.timer->start(*lane.stream);
      enqueue(i, *lane.stream);
      lane.timer->stop(*lane.stream);
    }
  } catch (...) {
    if (gate) gate->open();  // a held stream could never be destroyed
    throw;
  }
  if (gate) {
    start = Clock::now();
    gate->open();
  }
  for (const std::size_t i : chosen) lanes_[i].stream->wait(deadline_);
  host_seconds_ = seconds_since(start);
  std::vector<double> seconds;
  seconds.reserve(chosen.size());
  for (const std::size_t i : chosen) seconds.push_back(lanes_[i].timer->seconds());
  return seconds;
}

double Lanes::run_freely(const Enqueue& enqueue, std::size_t lane) {
  const Lane& used = lanes_[lane];
  const Clock::time_point start = Clock::now();
  used.timer->start(*used.stream);
  enqueue(lane, *used.stream);
  used.timer->stop(*used.stream);
  used.stream->wait(deadline_);
  host_seconds_ = seconds_since(start);
  return used.timer->seconds();
}

std::vector<double> Lanes::run_together(const std::function<void()>& enqueue_all, const std::function<void()>& wait) {
  const Clock::time_point start = Clock::now();
  for (const Lane& lane : lanes_) lane.timer->start(*lane.stream);
  enqueue_all();
  for (const Lane& lane : lanes_) lane.timer->stop(*lane.stream);
  wait();
  host_seconds_ = seconds_since(start);
  std::vector<double> seconds;
  seconds.reserve(lanes_.size());
  for (const Lane& lane : lanes_) seconds.push_back(lane.timer->seconds());
  return seconds;
}

void Lanes::wait() {
  for (const Lane& lane : lanes_) lane.stream->wait(deadline_);
}

double slowest(std::span<const double> seconds) {
  return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
}

double wanted_seconds(const Options& options) { return std::min(2e-3, options.min_time_seconds / 50); }

int find_passes(const std::function<double(int passes)>& seconds_of, double wanted, int most) {
  int passes = 1;
  seconds_of(passes);  // loads code, touches pages, connects
  for (int round = 0; round < 3; ++round) {
    double best = seconds_of(passes);
    double spent = best;
    for (int tries = 1; tries < 10 && spent < 10 * wanted; ++tries) {
      const double seconds = seconds_of(passes);
      best = std::min(best, seconds);
      spent += seconds;
    }
    if (best >= wanted) break;
    const double next = std::ceil(passes * wanted / std::max(best, 1e-9));
    passes = static_cast<int>(std::min(next, static_cast<double>(most)));
  }
  return passes;
}

std::size_t memory_limit(const kernels::Device& device, std::size_t sharing, std::size_t max_bytes) {
  const std::size_t free_bytes = device.facts().free_memory_bytes;
  const std::size_t usable = (free_bytes == 0 ? device.facts().memory_bytes : free_bytes) / 5 * 4 / sharing;
  return max_bytes == 0 ? usable : std::min(usable, max_bytes);
}

bool is_gpu(const kernels::Platform& platform) { return platform.kind() != "host"; }

void require_gpu(const kernels::Platform& platform, const char* reason) {
  if (!is_gpu(platform)) throw kernels::unsupported(reason);
}

}  // namespace claimcheck::bench

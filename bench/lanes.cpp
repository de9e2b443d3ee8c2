#include "bench/lanes.h"

#include <algorithm>
#include <cmath>

namespace claimcheck::bench {

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
  const std::span<Lane> used = std::span(lanes_).first(count == 0 ? lanes_.size() : count);
  // One lane needs no gate: nobody is to be waited for.
  const std::unique_ptr<kernels::Gate> gate = used.size() > 1 ? platform_.make_gate() : nullptr;
  try {
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (gate) gate->hold(*used[i].stream);
      used[i].timer->start(*used[i].stream);
      enqueue(i, *used[i].stream);
      used[i].timer->stop(*used[i].stream);
    }
  } catch (...) {
    if (gate) gate->open();  // a held stream could never be destroyed
    throw;
  }
  if (gate) gate->open();
  std::vector<double> seconds;
  for (const Lane& lane : used) lane.stream->wait(deadline_);
  for (const Lane& lane : used) seconds.push_back(lane.timer->seconds());
  return seconds;
}

std::vector<double> Lanes::run_together(const std::function<void()>& enqueue_all, const std::function<void()>& wait) {
  for (const Lane& lane : lanes_) lane.timer->start(*lane.stream);
  enqueue_all();
  for (const Lane& lane : lanes_) lane.timer->stop(*lane.stream);
  wait();
  std::vector<double> seconds;
  seconds.reserve(lanes_.size());
  for (const Lane& lane : lanes_) seconds.push_back(lane.timer->seconds());
  return seconds;
}

void Lanes::wait() {
  for (const Lane& lane : lanes_) lane.stream->wait(deadline_);
}

double slowest(std::span<const double> seconds) { return *std::max_element(seconds.begin(), seconds.end()); }

int find_passes(const std::function<double(int passes)>& seconds_of, int most) {
  constexpr double wanted_seconds = 2e-3;
  int passes = 1;
  seconds_of(passes);  // loads code, touches pages, connects
  for (int round = 0; round < 3; ++round) {
    double best = seconds_of(passes);
    double spent = best;
    for (int tries = 1; tries < 10 && spent < 10 * wanted_seconds; ++tries) {
      const double seconds = seconds_of(passes);
      best = std::min(best, seconds);
      spent += seconds;
    }
    if (best >= wanted_seconds) break;
    const double next = std::ceil(passes * wanted_seconds / std::max(best, 1e-9));
    passes = static_cast<int>(std::min(next, static_cast<double>(most)));
  }
  return passes;
}

std::size_t memory_limit(const kernels::Device& device, std::size_t sharing, std::size_t max_bytes) {
  const std::size_t free_bytes = device.facts().free_memory_bytes;
  const std::size_t usable = (free_bytes == 0 ? device.facts().memory_bytes : free_bytes) / 5 * 4 / sharing;
  return max_bytes == 0 ? usable : std::min(usable, max_bytes);
}

}  // namespace claimcheck::bench

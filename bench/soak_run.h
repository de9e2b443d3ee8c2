// A soak under way: all devices at once, round after round, each output compared with the first; rates and sensors as a
// time series. Kept from one segment (a case of the benchmark) to the next, so that the devices stay warm.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bench/benchmark.h"
#include "bench/soak_load.h"

namespace claimcheck::bench {

class SoakRun {
 public:
  explicit SoakRun(Setting& setting);

  void begin_segment();
  // Rounds for so many seconds of the host's clock. Its `seconds` are those of the products of one round, on average.
  // Throws wrong_result naming the device when an output differs.
  Iteration iterate(double seconds, const Setting::Alive& alive);
  void verify();
  void spoil() { loads_.back()->spoil(); }

  std::vector<kernels::Device*> devices() const;
  double work() const { return loads_[0]->flop(); }
  nlohmann::json conditions() const;
  nlohmann::json evidence() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Of one device: seconds of products and passes.
  using Sums = std::vector<RoundSeconds>;

  void round(const Setting::Alive& alive);
  void take_sample(double now, double shortest);
  void report(const std::vector<std::pair<std::size_t, Corruption>>& found, double now);
  double since_begin() const { return std::chrono::duration<double>(Clock::now() - segment_begun_).count(); }

  kernels::Platform& platform_;
  std::uint64_t seed_;
  double step_seconds_;  // between samples
  SoakSizes sizes_;
  std::vector<std::unique_ptr<SoakLoad>> loads_;
  std::optional<ProductReference> reference_;
  std::int64_t rounds_ = 0;  // of the whole soak

  // Of this segment.
  Clock::time_point segment_begun_ = Clock::now();
  std::int64_t segment_rounds_ = 0;
  Sums iteration_;  // of this iteration
  int iteration_rounds_ = 0;
  Sums sample_;  // since the last sample
  int sample_rounds_ = 0;
  double sampled_at_ = 0;
  std::vector<kernels::Facts> sensed_;  // of each device, the last time
  double sensed_at_ = -1;
  nlohmann::json series_;
  nlohmann::json corruption_ = nlohmann::json::array();
};

}  // namespace claimcheck::bench

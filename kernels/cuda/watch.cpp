// Evidence gathered while a benchmark runs on a GPU, ten times a second: clocks, power, temperature, throttle reasons.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "kernels/cuda/device.h"
#include "kernels/cuda/nvml_words.h"

namespace claimcheck::kernels::cuda {

namespace {

std::optional<double> number(const Facts& facts, std::string_view name) {
  for (const auto& [key, fact] : facts) {
    if (key != name) continue;
    if (const auto* whole = std::get_if<std::int64_t>(&fact)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&fact)) return *real;
  }
  return std::nullopt;
}

std::vector<double> series(const std::vector<Facts>& samples, std::string_view name) {
  std::vector<double> values;
  for (const Facts& sample : samples)
    if (const auto value = number(sample, name)) values.push_back(*value);
  std::sort(values.begin(), values.end());
  return values;
}

Fact median(const std::vector<double>& sorted) { return sorted.empty() ? Fact() : Fact(sorted[sorted.size() / 2]); }
Fact lowest(const std::vector<double>& sorted) { return sorted.empty() ? Fact() : Fact(sorted.front()); }
Fact highest(const std::vector<double>& sorted) { return sorted.empty() ? Fact() : Fact(sorted.back()); }

Fact whole(const Fact& fact) {
  const auto* real = std::get_if<double>(&fact);
  return real == nullptr ? Fact() : Fact(static_cast<std::int64_t>(*real));
}

unsigned long long mask_of(const Facts& sample) {
  return static_cast<unsigned long long>(number(sample, "throttle_mask").value_or(0));
}

// The first and the last sample see the GPU before and after the work: its idle clock says nothing of the benchmark.
std::vector<Facts> at_work(const std::vector<Facts>& samples) {
  std::vector<Facts> busy;
  for (const Facts& sample : samples)
    if ((mask_of(sample) & nvml::reason_gpu_idle) == 0) busy.push_back(sample);
  return busy.empty() ? samples : busy;
}

Fact increase(const std::vector<Facts>& samples, std::string_view name) {
  const auto first = number(samples.front(), name);
  const auto last = number(samples.back(), name);
  return first && last ? Fact(static_cast<std::int64_t>(*last - *first)) : Fact();
}

void add_throttling(Facts& facts, const std::vector<Facts>& samples) {
  unsigned long long mask = 0;
  for (const Facts& sample : samples) mask |= mask_of(sample);
  const bool known = !series(samples, "throttle_mask").empty();
  facts.emplace_back("throttle_mask", known ? Fact(static_cast<std::int64_t>(mask)) : Fact());
  facts.emplace_back("throttle_reasons", known ? Fact(nvml::throttle_names(mask)) : Fact());
  std::int64_t at_fault = 0;
  for (const Facts& sample : samples) at_fault += nvml::is_throttle_fault(mask_of(sample)) ? 1 : 0;
  facts.emplace_back("samples_in_slowdown", known ? Fact(at_fault) : Fact());
}

// What only some samples have: gpu_lost, no_permission, failed_queries.
void add_complaints(Facts& facts, const std::vector<Facts>& samples) {
  std::map<std::string, Fact> complaints;
  for (const Facts& sample : samples)
    for (const auto& [name, fact] : sample)
      if (name == "gpu_lost" || name == "no_permission" || name == "failed_queries") complaints[name] = fact;
  for (auto& [name, fact] : complaints) facts.emplace_back(name, fact);
}

Facts summary(const std::vector<Facts>& samples) {
  const std::vector<Facts> busy = at_work(samples);
  Facts facts = {{"samples", static_cast<std::int64_t>(samples.size())}};
  for (const std::string name : {"sm_clock", "memory_clock"}) {
    const std::vector<double> values = series(busy, name + "_mhz");
    facts.emplace_back(name + "_mhz", median(values));
    facts.emplace_back(name + "_lowest_mhz", lowest(values));
    facts.emplace_back(name + "_highest_mhz", highest(values));
  }
  const std::vector<double> power = series(busy, "power_w");
  facts.emplace_back("power_w", median(power));
  facts.emplace_back("power_lowest_w", lowest(power));
  facts.emplace_back("power_highest_w", highest(power));
  for (const std::string name : {"temperature", "memory_temperature"}) {
    const std::vector<double> values = series(samples, name + "_c");
    facts.emplace_back(name + "_c", median(values));
    facts.emplace_back(name + "_lowest_c", lowest(values));
    facts.emplace_back(name + "_highest_c", highest(values));
  }
  facts.emplace_back("utilization_percent", median(series(busy, "utilization_percent")));
  add_throttling(facts, samples);
  // An idle link rests at a low generation: what it was at best counts for the generation, at worst for the width.
  facts.emplace_back("pcie_generation", whole(highest(series(samples, "pcie_generation"))));
  facts.emplace_back("pcie_width_lowest", whole(lowest(series(samples, "pcie_width"))));
  facts.emplace_back("pcie_width_highest", whole(highest(series(samples, "pcie_width"))));
  facts.emplace_back("ecc_corrected_new", increase(samples, "ecc_corrected"));
  facts.emplace_back("ecc_uncorrected_new", increase(samples, "ecc_uncorrected"));
  add_complaints(facts, samples);
  return facts;
}

class GpuWatch final : public Watch {
 public:
  explicit GpuWatch(const NvmlDevice* sensors) : sensors_(sensors), start_(std::chrono::steady_clock::now()) {
    if (sensors_ == nullptr) return;
    samples_.push_back(sensors_->sample());
    sampler_ = std::jthread([this](const std::stop_token& stop) { sample_until(stop); });
  }

  Facts stop() override {
    const std::chrono::duration<double> watched = std::chrono::steady_clock::now() - start_;
    Facts facts = {{"watched_seconds", watched.count()}};
    if (sensors_ == nullptr) {
      facts.emplace_back("sensors", "NVML is missing or does not know this GPU");
      return facts;
    }
    if (sampler_.joinable()) {
      sampler_.request_stop();
      sampler_.join();  // from here on samples_ is ours
      samples_.push_back(sensors_->sample());
    }
    const Facts of_samples = summary(samples_);
    facts.insert(facts.end(), of_samples.begin(), of_samples.end());
    return facts;
  }

 private:
  void sample_until(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    // The first sample was taken at once.
    while (!wake_.wait_for(lock, stop, std::chrono::milliseconds(100), [&] { return stop.stop_requested(); }))
      samples_.push_back(sensors_->sample());
  }

  const NvmlDevice* sensors_;
  std::chrono::steady_clock::time_point start_;
  std::vector<Facts> samples_;  // written by the sampler until it is joined
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread sampler_;  // last: it uses the others
};

}  // namespace

std::unique_ptr<Watch> make_watch(const Gpu& gpu) { return std::make_unique<GpuWatch>(gpu.sensors); }

}  // namespace claimcheck::kernels::cuda

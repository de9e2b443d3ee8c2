#include "bench/worker/samples.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace claimcheck::bench {

void Call::add(const Iteration& iteration) {
  ++iterations;
  seconds += iteration.seconds;
  device_seconds.resize(std::max(device_seconds.size(), iteration.device_seconds.size()), 0.0);
  for (std::size_t i = 0; i < iteration.device_seconds.size(); ++i) device_seconds[i] += iteration.device_seconds[i];
  for (const auto& [metric, value] : iteration.also) weighted_seconds[metric] += value * iteration.seconds;
}

std::optional<double> unit_factor(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, double>, 12> factors = {{{"GB/s", 1e9},
                                                                                   {"TFLOPS", 1e12},
                                                                                   {"GFLOPS", 1e9},
                                                                                   {"TOPS", 1e12},
                                                                                   {"IOPS", 1},
                                                                                   {"tokens/s", 1},
                                                                                   {"samples/s", 1},
                                                                                   {"1", 1},
                                                                                   {"s", 1},
                                                                                   {"ms", 1e-3},
                                                                                   {"us", 1e-6},
                                                                                   {"ns", 1e-9}}};
  for (const auto& [name, factor] : factors)
    if (name == unit) return factor;
  return std::nullopt;
}

std::span<const Call> repetitions_of(std::span<const Call> calls, std::size_t repetitions) {
  return calls.last(std::min(repetitions, calls.size()));
}

namespace {

double value(const Benchmark& benchmark, double work, std::int64_t iterations, double seconds) {
  const std::optional<double> factor = unit_factor(benchmark.unit);
  if (!factor) throw std::logic_error("benchmark " + benchmark.id + " has the unknown unit '" + benchmark.unit + "'");
  const double mean = seconds / static_cast<double>(iterations);
  if (benchmark.rate == Rate::seconds) return mean / (work > 0 ? work : 1) / *factor;
  return work / mean / *factor;
}

}  // namespace

std::vector<double> samples(const Benchmark& benchmark, double work, std::span<const Call> calls) {
  if (benchmark.rate == Rate::ratio) return also_samples(benchmark.metric, calls);
  std::vector<double> result;
  for (const Call& call : calls) result.push_back(value(benchmark, work, call.iterations, call.seconds));
  return result;
}

std::vector<double> device_samples(const Benchmark& benchmark, double work, std::span<const Call> calls,
                                   std::size_t device) {
  std::vector<double> result;
  if (benchmark.rate == Rate::ratio) return result;
  for (const Call& call : calls)
    if (device < call.device_seconds.size())
      result.push_back(value(benchmark, work, call.iterations, call.device_seconds[device]));
  return result;
}

std::vector<double> also_samples(const std::string& metric, std::span<const Call> calls) {
  std::vector<double> result;
  for (const Call& call : calls) {
    const auto found = call.weighted_seconds.find(metric);
    if (found != call.weighted_seconds.end()) result.push_back(found->second / call.seconds);
  }
  return result;
}

}  // namespace claimcheck::bench

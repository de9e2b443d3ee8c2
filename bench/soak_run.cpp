#include "bench/soak_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/facts_json.h"
#include "bench/lanes.h"

namespace claimcheck::bench {

namespace {

// Samples of a whole soak and device: one a second for half an hour; of a longer one they are further apart.
constexpr double most_samples = 1800;

// What a series holds of the sensors, by the names of kernels/.
constexpr std::array<std::string_view, 8> sensed_names = {"sm_clock_mhz",  "memory_clock_mhz",     "power_w",
                                                          "temperature_c", "memory_temperature_c", "throttle_mask",
                                                          "cpu_clock_mhz", "package_temperature_c"};

nlohmann::json number_of(const kernels::Facts& facts, std::string_view name) {
  for (const auto& [key, fact] : facts)
    if (key == name) return to_json(fact);
  return nullptr;
}

nlohmann::json rounded(double value) { return std::round(value * 1000) / 1000; }

std::string name_of(const kernels::Platform& platform, const kernels::Device& device) {
  return is_gpu(platform) ? fmt::format("GPU {}", device.facts().index) : device.facts().name;
}

}  // namespace

SoakRun::SoakRun(Setting& setting)
    : platform_(setting.platform),
      seed_(setting.options.seed),
      step_seconds_(std::max(1.0, setting.options.soak_seconds / most_samples)) {
  const kernels::Duration deadline(setting.options.deadline_seconds);
  const std::span<kernels::Device* const> devices = platform_.devices();
  const auto limit = [&](const kernels::Device& device) { return memory_limit(device, 1, setting.options.max_bytes); };
  sizes_ = soak_sizes(*devices[0], limit(*devices[0]), setting.options.max_gemm, is_gpu(platform_), deadline);
  for (kernels::Device* device : devices) {
    setting.alive();
    loads_.push_back(std::make_unique<SoakLoad>(*device, sizes_, seed_, deadline));
  }
  reference_.emplace(loads_[0]->reference(seed_));
  begin_segment();
}

void SoakRun::begin_segment() {
  segment_begun_ = Clock::now();
  segment_rounds_ = 0;
  sample_.assign(loads_.size(), {});
  sample_rounds_ = 0;
  sampled_at_ = 0;
  sensed_.assign(loads_.size(), {});
  sensed_at_ = -1;
  corruption_ = nlohmann::json::array();
  series_ = {{"seconds", nlohmann::json::array()}, {"devices", nlohmann::json::array()}};
  for (const auto& load : loads_) series_["devices"].push_back({{"index", load->device().facts().index}});
}

Iteration SoakRun::iterate(double seconds, const Setting::Alive& alive) {
  iteration_.assign(loads_.size(), {});
  iteration_rounds_ = 0;
  const Clock::time_point start = Clock::now();
  const auto spent = [start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  do {
    round(alive);
  } while (spent() < seconds);
  Iteration iteration;
  double slowest_memory = 0;
  for (const RoundSeconds& sum : iteration_) {
    iteration.device_seconds.push_back(sum.gemm / iteration_rounds_);
    slowest_memory = std::max(slowest_memory, sum.memory / iteration_rounds_);
  }
  iteration.seconds = slowest(iteration.device_seconds);
  iteration.also = {{"soak.memory.gbps", loads_[0]->bytes() / slowest_memory / 1e9}};
  iteration.busy_seconds = std::max(seconds, spent());
  return iteration;
}

void SoakRun::round(const Setting::Alive& alive) {
  const std::unique_ptr<kernels::Gate> gate = platform_.make_gate();
  try {
    for (const auto& load : loads_) {
      gate->hold(load->stream());
      load->enqueue();
    }
  } catch (...) {
    gate->open();  // a held stream could never be destroyed
    throw;
  }
  gate->open();
  // Asked while the devices work: idle, their clocks would say nothing.
  if (sensed_at_ < 0 || since_begin() - sensed_at_ >= step_seconds_) {
    sensed_at_ = since_begin();
    for (std::size_t i = 0; i < loads_.size(); ++i) sensed_[i] = loads_[i]->device().sense();
  }
  std::vector<std::pair<std::size_t, Corruption>> found;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    for (Corruption& one : loads_[i]->wait()) found.emplace_back(i, std::move(one));
    const RoundSeconds took = loads_[i]->seconds();
    for (Sums* sums : {&iteration_, &sample_}) {
      (*sums)[i].gemm += took.gemm;
      (*sums)[i].memory += took.memory;
    }
  }
  ++rounds_;
  ++segment_rounds_;
  ++iteration_rounds_;
  ++sample_rounds_;
  const double now = since_begin();
  take_sample(now, step_seconds_);
  alive();
  if (!found.empty()) report(found, now);
}

void SoakRun::take_sample(double now, double shortest) {
  if (sample_rounds_ == 0 || now - sampled_at_ < shortest) return;
  series_["seconds"].push_back(rounded(now));
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    nlohmann::json& device = series_["devices"][i];
    device["tflops"].push_back(rounded(sample_rounds_ * loads_[i]->flop() / sample_[i].gemm / 1e12));
    device["gbps"].push_back(rounded(sample_rounds_ * loads_[i]->bytes() / sample_[i].memory / 1e9));
    for (const std::string_view name : sensed_names) device[std::string(name)].push_back(number_of(sensed_[i], name));
  }
  sample_.assign(loads_.size(), {});
  sample_rounds_ = 0;
  sampled_at_ = now;
}

void SoakRun::report(const std::vector<std::pair<std::size_t, Corruption>>& found, double now) {
  take_sample(now, 0);
  for (const auto& [i, one] : found)
    corruption_.push_back({{"device", loads_[i]->device().facts().index},
                           {"operation", one.operation},
                           {"output", one.output},
                           {"round", rounds_},
                           {"seconds", rounded(now)},
                           {"words", one.words},
                           {"first_word", one.first_word},
                           {"expected", fmt::format("0x{:016x}", one.expected)},
                           {"found", fmt::format("0x{:016x}", one.found)}});
  const auto& [i, first] = found.front();
  throw kernels::wrong_result(fmt::format(
      "{} gave other bits for the same {}: {} of its 8-byte words differ from the first output in round {}, the first "
      "is word {}: 0x{:016x} in place of 0x{:016x}{}",
      name_of(platform_, loads_[i]->device()), first.operation, first.words, rounds_, first.first_word, first.found,
      first.expected, found.size() == 1 ? "" : fmt::format("; {} outputs in all", found.size())));
}

void SoakRun::verify() {
  for (const auto& load : loads_) load->verify(*reference_);
}

std::vector<kernels::Device*> SoakRun::devices() const {
  std::vector<kernels::Device*> result;
  result.reserve(loads_.size());
  for (const auto& load : loads_) result.push_back(&load->device());
  return result;
}

nlohmann::json SoakRun::conditions() const {
  return {{"data_type", to_string(sizes_.type)},
          {"output_type", loads_[0]->output_type()},
          {"data_pattern", "normal"},
          {"shape", {{"m", sizes_.n}, {"n", sizes_.n}, {"k", sizes_.n}}},
          {"sparsity", "dense"},
          {"outputs_compared", "all, bit by bit"},
          {"products_a_round", sizes_.outputs},
          {"passes_a_round", sizes_.passes},
          {"array_bytes", sizes_.array_bytes},
          {"held_bytes", loads_[0]->held_bytes()}};
}

// A sensor that nobody has is left out; one value that is missing is null.
nlohmann::json SoakRun::evidence() const {
  nlohmann::json series = series_;
  for (nlohmann::json& device : series["devices"])
    for (const std::string_view name : sensed_names) {
      const auto column = device.find(name);
      if (column == device.end()) continue;
      if (std::all_of(column->begin(), column->end(), [](const nlohmann::json& one) { return one.is_null(); }))
        device.erase(column);
    }
  nlohmann::json evidence = {{"series", std::move(series)}, {"rounds", segment_rounds_}};
  if (!corruption_.empty()) evidence["corruption"] = corruption_;
  const kernels::Facts facts = loads_[0]->facts();
  if (!facts.empty()) evidence["implementation"] = to_json(facts);
  return evidence;
}

}  // namespace claimcheck::bench

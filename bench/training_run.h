// Data-parallel training of one transformer on several devices: each has its own text; gradients are summed over the
// ranks part by part, while the backward pass works on the parts before.
#pragma once

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bench/benchmark.h"
#include "bench/lanes.h"
#include "bench/transformer.h"

namespace claimcheck::bench {

class TrainingRun {
 public:
  // `group` exchanges the gradients; null where one device trains alone. Throws unsupported where the device has no
  // such operations.
  TrainingRun(Setting& setting, std::span<kernels::Device* const> devices, const TransformerShape& shape,
              std::shared_ptr<kernels::Group> group);

  struct Step {
    double seconds = 0;                  // of the slowest device
    std::vector<double> device_seconds;  // of each
    double exposed_seconds = 0;          // of the slowest: waiting for gradients of others, nothing else to do
  };
  Step step();

  // The loss has fallen since the first step, master copy and weights agree, and all ranks of this process have the
  // same weights. Those of other processes: compare().
  void verify();
  // Of the weights that verify() looked at.
  std::string digest() const;
  // What all processes gave as digest(), "" where one had no part. Throws wrong_result where weights differ.
  static void compare(const std::vector<std::string>& digests, const kernels::World& world);
  void spoil();  // one bit of a weight of the last device

  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  const TransformerShape& shape() const { return models_[0]->shape(); }
  int ranks() const { return ranks_; }
  nlohmann::json conditions() const;
  nlohmann::json evidence() const;

 private:
  struct Exchange {
    std::unique_ptr<kernels::Stream> stream;
    std::unique_ptr<kernels::Timer> waiting;
  };

  void enqueue();
  void sum_gradients(const ParameterSpan& span);
  void wait();
  double mean_loss();
  // Throws wrong_result where they are not what their master copy rounds to.
  std::vector<std::byte> checked_weights(std::size_t lane, const ParameterSpan& span);
  std::vector<std::byte> stored(std::size_t lane, kernels::Slice slice);

  kernels::Duration deadline_;
  Lanes lanes_;
  std::shared_ptr<kernels::Group>& kept_group_;  // of the session: dropped when it has failed
  std::shared_ptr<kernels::Group> group_;
  int ranks_;
  std::vector<std::unique_ptr<Transformer>> models_;  // of each lane
  std::vector<Exchange> exchanges_;                   // of each lane, where there is a group
  std::vector<kernels::Stream*> exchange_streams_;
  int steps_ = 0;
  std::array<std::uint64_t, 2> digest_{};
  double first_loss_ = 0;
  double last_loss_ = 0;
};

}  // namespace claimcheck::bench

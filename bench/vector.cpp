// Rate of the vector units: independent chains of multiply-adds on registers, on every device at once.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/chain_reference.h"
#include "bench/facts_json.h"
#include "bench/load.h"
#include "bench/reference.h"
#include "bench/unit_rate.h"

namespace claimcheck::bench {
namespace {

using kernels::Slice;
using kernels::VectorOp;

constexpr std::int64_t most_steps = 1 << 20;
constexpr std::size_t lanes_a_group = 16;
constexpr std::size_t groups_checked = 8;

// The inputs are the same on every device, and so are the outputs: one reference serves all.
struct Expected {
  std::vector<std::byte> outputs;  // of the sampled groups, one after the other
};

class VectorLoad final : public Load {
 public:
  VectorLoad(kernels::Device& device, kernels::Stream& stream, VectorOp op, std::uint64_t seed)
      : device_(device),
        op_(op),
        seed_(seed),
        chains_(device.make_vector(op)),
        bytes_(kernels::storage_bytes(value_type(op), static_cast<std::size_t>(chains_->lanes()))),
        input_(device.allocate((bytes_ + 15) / 16 * 16)),
        output_(device.allocate((bytes_ + 15) / 16 * 16)) {
    device.fill(stream, Slice(*input_, 0, bytes_), value_type(op), kernels::Pattern::normal, seed);
    forget(stream);
  }

  void use(std::int64_t steps, std::shared_ptr<Expected> expected) {
    steps_ = steps;
    expected_ = std::move(expected);
  }
  void enqueue(kernels::Stream& stream, std::int64_t steps) {
    chains_->enqueue(stream, Slice(*input_, 0, bytes_), Slice(*output_, 0, bytes_), steps);
  }
  void enqueue(kernels::Stream& stream) override { enqueue(stream, steps_); }

  // Bit for bit; then forgets the outputs, so that ones never written again are seen the next time.
  void verify(kernels::Stream& stream) override {
    if (expected_->outputs.empty())
      expected_->outputs = chains_reference(op_, sampled(stream, *input_), chains_->chains(), steps_);
    const std::vector<std::byte> found = sampled(stream, *output_);
    const std::size_t size = kernels::storage_bytes(value_type(op_), 1);
    for (std::size_t i = 0; i < found.size() / size; ++i)
      if (std::memcmp(found.data() + i * size, expected_->outputs.data() + i * size, size) != 0) differs(found, i);
    forget(stream);
  }

  void spoil(kernels::Stream& stream) override {
    flip_bit(device_, stream, Slice(*output_, 0, bytes_), bytes_ - 1, 0);  // of the last lane
  }

  double work() const override {
    return static_cast<double>(chains_->lanes()) * chains_->chains() * static_cast<double>(steps_) *
           chains_->operations();
  }

  nlohmann::json conditions() const override {
    const std::size_t lanes = static_cast<std::size_t>(chains_->lanes());
    return {{"data_type", to_string(op_)},
            {"lanes", lanes},
            {"chains", chains_->chains()},
            {"steps", steps_},
            {"checked_lanes", std::min(lanes, groups_checked * lanes_a_group)}};
  }

 private:
  void forget(kernels::Stream& stream) {
    device_.fill(stream, Slice(*output_, 0, bytes_), value_type(op_), kernels::Pattern::zeros, 0);
  }

  std::vector<std::byte> sampled(kernels::Stream& stream, kernels::Buffer& buffer) {
    const auto lanes = static_cast<std::size_t>(chains_->lanes());
    const std::size_t size = kernels::storage_bytes(value_type(op_), 1);
    std::vector<std::byte> all;
    for (const std::size_t first : sampled_groups(lanes, lanes_a_group, groups_checked, seed_)) {
      std::vector<std::byte> group(std::min(lanes_a_group, lanes - first) * size);
      device_.download(stream, group, Slice(buffer, first * size, group.size()));
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }

  [[noreturn]] void differs(std::span<const std::byte> found, std::size_t i) const {
    const std::size_t size = kernels::storage_bytes(value_type(op_), 1);
    const auto groups =
        sampled_groups(static_cast<std::size_t>(chains_->lanes()), lanes_a_group, groups_checked, seed_);
    const auto value = [&](std::span<const std::byte> of) {
      return kernels::decode(value_type(op_), of.subspan(i * size, size), 1)[0];
    };
    throw kernels::wrong_result(fmt::format("vector {}: lane {} after {} steps is {:.17g}, expected {:.17g}",
                                            to_string(op_), groups[i / lanes_a_group] + i % lanes_a_group, steps_,
                                            value(found), value(expected_->outputs)));
  }

  kernels::Device& device_;
  VectorOp op_;
  std::uint64_t seed_;
  std::unique_ptr<kernels::VectorChains> chains_;
  std::size_t bytes_;
  std::unique_ptr<kernels::Buffer> input_;
  std::unique_ptr<kernels::Buffer> output_;
  std::int64_t steps_ = 1;
  std::shared_ptr<Expected> expected_;
};

std::int64_t steps_for(Setting& setting, VectorOp op) {
  kernels::Device& device = *setting.platform.devices()[0];
  const std::unique_ptr<kernels::Stream> stream = device.make_stream();
  VectorLoad load(device, *stream, op, setting.options.seed);
  stream->wait(kernels::Duration(setting.options.deadline_seconds));
  return find_steps(setting, most_steps, [&](kernels::Stream& used, std::int64_t steps) { load.enqueue(used, steps); });
}

Prepared prepare(Setting& setting, VectorOp op) {
  const std::int64_t steps = steps_for(setting, op);
  const auto expected = std::make_shared<Expected>();
  return prepared_from(std::make_shared<LoadRun>(
      setting, setting.platform.devices(), [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
        auto load = std::make_unique<VectorLoad>(device, stream, op, setting.options.seed);
        load->use(steps, expected);
        return load;
      }));
}

bool declare(VectorOp op) {
  const bool integer = op == VectorOp::int32 || op == VectorOp::dp4a;
  const std::string id = fmt::format("vector.{}", to_string(op));
  return add({.id = id,
              .metric = id + (integer ? ".tops" : ".tflops"),
              .unit = integer ? "TOPS" : "TFLOPS",
              .method = "vector/1",
              .summary = fmt::format("Multiply-adds on registers in {}, by the vector units.", to_string(op)),
              .quick = op == VectorOp::fp64 || op == VectorOp::fp32,
              .setup_seconds = 1,
              .cases =
                  [op](kernels::Platform& platform, const Options&) {
                    platform.devices()[0]->make_vector(op);  // says "unsupported"
                    return std::vector<Case>{Case{}};
                  },
              .prepare = [op](Setting& setting) { return prepare(setting, op); }});
}

const bool declared = declare(VectorOp::fp64) && declare(VectorOp::fp32) && declare(VectorOp::fp16) &&
                      declare(VectorOp::bf16) && declare(VectorOp::int32) && declare(VectorOp::dp4a);

}  // namespace
}  // namespace claimcheck::bench

// Rate of the matrix units on operands in registers, on every device at once: what a matrix product comes near.
#include <fmt/format.h>

#include <algorithm>

#include "bench/load.h"
#include "bench/reference.h"
#include "bench/tensor_reference.h"
#include "bench/unit_rate.h"

namespace claimcheck::bench {
namespace {

using kernels::DataType;
using kernels::GemmShape;
using kernels::Slice;

constexpr std::size_t tiles_checked = 16;

// One of the three matrices of all tiles.
struct Stack {
  std::unique_ptr<kernels::Buffer> buffer;
  DataType type = DataType::fp64;
  std::size_t values_a_tile = 0;

  Stack(kernels::Device& device, DataType stored_as, std::int64_t rows, std::int64_t columns, std::int64_t tiles)
      : type(stored_as), values_a_tile(static_cast<std::size_t>(rows * columns)) {
    buffer = device.allocate(kernels::storage_bytes(type, values_a_tile * static_cast<std::size_t>(tiles)));
  }
  std::vector<double> tile(kernels::Device& device, kernels::Stream& stream, std::size_t number) const {
    return download_values(device, stream, *buffer, type, number * values_a_tile, values_a_tile);
  }
};

class TensorLoad final : public Load {
 public:
  TensorLoad(kernels::Device& device, kernels::Stream& stream, DataType type, std::uint64_t seed)
      : device_(device),
        type_(type),
        seed_(seed),
        tiles_(device.make_tensor(type)),
        shape_(tiles_->tile()),
        a_(device, type, shape_.k, shape_.m, tiles_->tiles()),
        b_(device, type, shape_.k, shape_.n, tiles_->tiles()),
        c_(device, tiles_->output_type(), shape_.m, shape_.n, tiles_->tiles()) {
    device.fill(stream, *a_.buffer, type, kernels::Pattern::normal, seed + 1);
    device.fill(stream, *b_.buffer, type, kernels::Pattern::normal, seed + 2);
    forget(stream);
  }

  void use(std::int64_t steps) { steps_ = steps; }
  void enqueue(kernels::Stream& stream, std::int64_t steps) {
    tiles_->enqueue(stream, *a_.buffer, *b_.buffer, *c_.buffer, steps);
  }
  void enqueue(kernels::Stream& stream) override { enqueue(stream, steps_); }

  // A sample of tiles; then forgets them all, so that ones never written again are seen the next time.
  void verify(kernels::Stream& stream) override {
    const Tile tile{shape_, type_, c_.type, steps_};
    for (const std::size_t number : sampled())
      check_tile(tile, a_.tile(device_, stream, number), b_.tile(device_, stream, number),
                 c_.tile(device_, stream, number), fmt::format("tensor {}: tile {}", to_string(type_), number));
    forget(stream);
  }

  void spoil(kernels::Stream& stream) override {
    // The highest bit of the exponent of the last entry, stored little-endian; of an integer the one below the sign.
    flip_bit(device_, stream, *c_.buffer, c_.buffer->size_bytes() - 1, 6);
  }

  double work() const override {
    return shape_.flop() * static_cast<double>(tiles_->tiles()) * static_cast<double>(steps_);
  }
  kernels::Facts facts() const override { return tiles_->facts(); }

  nlohmann::json conditions() const override {
    return {{"data_type", to_string(type_)},
            {"output_type", to_string(c_.type)},
            {"data_pattern", "normal"},
            {"shape", {{"m", shape_.m}, {"n", shape_.n}, {"k", shape_.k}}},
            {"sparsity", "dense"},
            {"tiles", tiles_->tiles()},
            {"steps", steps_},
            {"checked_tiles", sampled().size()}};
  }

 private:
  void forget(kernels::Stream& stream) { device_.fill(stream, *c_.buffer, c_.type, kernels::Pattern::zeros, 0); }
  std::vector<std::size_t> sampled() const {
    return sampled_groups(static_cast<std::size_t>(tiles_->tiles()), 1, tiles_checked, seed_);
  }

  kernels::Device& device_;
  DataType type_;
  std::uint64_t seed_;
  std::unique_ptr<kernels::TensorTiles> tiles_;
  GemmShape shape_;
  Stack a_;
  Stack b_;
  Stack c_;
  std::int64_t steps_ = 1;
};

std::int64_t steps_for(Setting& setting, DataType type) {
  kernels::Device& device = *setting.platform.devices()[0];
  const std::unique_ptr<kernels::Stream> stream = device.make_stream();
  TensorLoad load(device, *stream, type, setting.options.seed);
  stream->wait(kernels::Duration(setting.options.deadline_seconds));
  return find_steps(setting, most_tile_steps(type),
                    [&](kernels::Stream& used, std::int64_t steps) { load.enqueue(used, steps); });
}

Prepared prepare(Setting& setting, DataType type) {
  const std::int64_t steps = steps_for(setting, type);
  return prepared_from(std::make_shared<LoadRun>(
      setting, setting.platform.devices(), [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
        auto load = std::make_unique<TensorLoad>(device, stream, type, setting.options.seed);
        load->use(steps);
        return load;
      }));
}

bool declare(DataType type) {
  const bool integer = type == DataType::int8;
  const std::string id = fmt::format("tensor.{}", to_string(type));
  return add({.id = id,
              .metric = id + (integer ? ".tops" : ".tflops"),
              .unit = integer ? "TOPS" : "TFLOPS",
              .method = "tensor/1",
              .summary = fmt::format("Matrix instructions on registers in {}.", to_string(type)),
              .quick = type == DataType::bf16,
              .setup_seconds = 1,
              .cases =
                  [type](kernels::Platform& platform, const Options&) {
                    platform.devices()[0]->make_tensor(type);  // says "unsupported"
                    return std::vector<Case>{Case{}};
                  },
              .prepare = [type](Setting& setting) { return prepare(setting, type); }});
}

const bool declared = declare(DataType::fp64) && declare(DataType::tf32) && declare(DataType::fp16) &&
                      declare(DataType::bf16) && declare(DataType::fp8_e4m3) && declare(DataType::fp8_e5m2) &&
                      declare(DataType::int8);

}  // namespace
}  // namespace claimcheck::bench

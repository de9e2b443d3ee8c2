#include "bench/gemm_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/reference.h"

namespace claimcheck::bench {

namespace {

using kernels::Buffer;
using kernels::DataType;
using kernels::Pattern;

struct Operands {
  std::unique_ptr<Buffer> a;
  std::unique_ptr<Buffer> b;
  std::unique_ptr<Buffer> c;
  bool used = false;
};

std::size_t matrix_bytes(DataType type, std::int64_t rows, std::int64_t columns) {
  const std::size_t stored = kernels::storage_bytes(type, static_cast<std::size_t>(rows * columns));
  return (stored + 15) / 16 * 16;
}

class GemmLoad final : public Load {
 public:
  GemmLoad(kernels::Device& device, kernels::Stream& stream, const GemmOptions& options)
      : device_(device), options_(options), gemm_(device.make_gemm(options.type, options.shape)) {
    const auto& [m, n, k] = options.shape;
    const std::size_t a = matrix_bytes(options.type, k, m);
    const std::size_t b = matrix_bytes(b_type(), k, n);
    const std::size_t c = matrix_bytes(gemm_->output_type(), m, n);
    const std::size_t all = a + b + c;
    if (all > options.limit_bytes)
      throw kernels::unsupported(fmt::format("the matrices take {:.1f} MiB, {:.1f} MiB may be used",
                                             static_cast<double>(all) / (1 << 20),
                                             static_cast<double>(options.limit_bytes) / (1 << 20)));
    // Sets take turns so that the operands are not in a cache: four caches' worth, four sets at most.
    const std::size_t wanted = 4 * device.facts().last_level_cache_bytes / all + 1;
    const std::size_t count = std::min({std::size_t{4}, wanted, options.limit_bytes / all});
    for (std::size_t number = 0; number < count; ++number) {
      sets_.push_back({device.allocate(a), device.allocate(b), device.allocate(c)});
      fill(stream, sets_.back(), options.seed + 10 * number);
    }
  }

  void enqueue(kernels::Stream& stream) override {
    Operands& set = sets_[turn_++ % sets_.size()];
    gemm_->enqueue(stream, *set.a, *set.b, *set.c);
    set.used = true;
  }

  void verify(kernels::Stream& stream) override {
    const auto reader = [&](Buffer& buffer, DataType type) {
      return [&, type](std::size_t first, std::size_t count) {
        return download_values(device_, stream, buffer, type, first, count);
      };
    };
    ProductReferences& references = *options_.references;
    for (std::size_t number = 0; number < sets_.size(); ++number) {
      const Operands& set = sets_[number];
      if (!set.used) continue;
      const Product product{.shape = options_.shape,
                            .input_type = options_.type,
                            .output_type = gemm_->output_type(),
                            .a = reader(*set.a, options_.type),
                            .b = reader(*set.b, b_type()),
                            .c = reader(*set.c, gemm_->output_type())};
      references.try_emplace(number, product, options_.seed).first->second.check(product.c);
    }
  }

  void spoil(kernels::Stream& stream) override {
    Buffer& output = *sets_[(turn_ - 1) % sets_.size()].c;
    const std::size_t size = kernels::storage_bytes(gemm_->output_type(), 1);
    const std::vector<std::size_t> columns = checked_columns(options_.shape, options_.seed);
    const auto m = static_cast<std::size_t>(options_.shape.m);
    const std::size_t middle = columns[columns.size() / 2] * m + m / 2;
    // The highest bit of the exponent (of the number below the sign, for integers), stored little-endian.
    flip_bit(device_, stream, output, middle * size + size - 1, 6);
  }

  double work() const override { return options_.shape.flop(); }
  kernels::Facts facts() const override { return gemm_->facts(); }

  nlohmann::json conditions() const override {
    const auto& [m, n, k] = options_.shape;
    nlohmann::json conditions = {
        {"data_type", to_string(options_.type)},
        {"output_type", to_string(gemm_->output_type())},
        {"data_pattern", options_.pattern == Pattern::zeros ? "zeros" : "normal"},
        {"shape", {{"m", m}, {"n", n}, {"k", k}}},
        {"sparsity", "dense"},
        {"checked_share",
         static_cast<double>(checked_columns(options_.shape, options_.seed).size()) / static_cast<double>(n)},
        {"sets", sets_.size()}};
    // Units take tiles of 128 x 128 of the output; fewer tiles than units leave some idle.
    const std::int64_t tiles = (m + 127) / 128 * ((n + 127) / 128);
    const int units = device_.facts().compute_units;
    if (options_.wants_all_units && tiles < units)
      conditions["limited"] = fmt::format("a product of {} x {} x {} occupies {} of {} units", m, n, k, tiles, units);
    if (b_type() != options_.type) conditions["b_type"] = to_string(b_type());
    return conditions;
  }

 private:
  DataType b_type() const { return gemm_->other_b_type().value_or(options_.type); }

  void fill(kernels::Stream& stream, Operands& set, std::uint64_t seed) {
    device_.fill(stream, *set.a, options_.type, options_.pattern, seed + 1);
    device_.fill(stream, *set.b, b_type(), options_.pattern, seed + 2);
    // The other pattern, so that an output never written is seen.
    const Pattern other = options_.pattern == Pattern::zeros ? Pattern::normal : Pattern::zeros;
    device_.fill(stream, *set.c, gemm_->output_type(), other, seed + 3);
  }

  kernels::Device& device_;
  GemmOptions options_;
  std::unique_ptr<kernels::Gemm> gemm_;
  std::vector<Operands> sets_;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_gemm_load(kernels::Device& device, kernels::Stream& stream, const GemmOptions& options) {
  return std::make_unique<GemmLoad>(device, stream, options);
}

}  // namespace claimcheck::bench

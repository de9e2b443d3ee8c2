// Matrix products by data type: square sizes, shapes of real layers, and one size on zeros. All devices at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "bench/benchmark.h"
#include "bench/facts_json.h"
#include "bench/lanes.h"
#include "bench/reference.h"

namespace claimcheck::bench {
namespace {

using kernels::Buffer;
using kernels::DataType;
using kernels::GemmShape;
using kernels::Pattern;

constexpr std::array<std::int64_t, 5> square_sizes = {1024, 2048, 4096, 8192, 16384};

// Llama 3.1 8B (hidden 4096, 8 of 32 heads for keys and values, feed-forward 14336) at 8192 tokens: the attention
// projection, and both directions of the feed-forward layer.
constexpr std::array<GemmShape, 3> layer_shapes = {{{8192, 6144, 4096}, {8192, 14336, 4096}, {8192, 4096, 14336}}};

std::string label_of(const GemmShape& shape) {
  if (shape.m == shape.n && shape.n == shape.k) return fmt::format("n:{}", shape.n);
  return fmt::format("m:{},n:{},k:{}", shape.m, shape.n, shape.k);
}

GemmShape shape_of(const Case& chosen) {
  if (chosen.variant == "layer") return layer_shapes[static_cast<std::size_t>(chosen.value)];
  return {chosen.value, chosen.value, chosen.value};
}

bool is_cpu(const kernels::Platform& platform) { return platform.kind() == "host"; }

// What to expect of a CPU before anything was timed, FLOP/s: 32 a core and ns in fp64 (AVX-512, two units, 2 GHz),
// twice that in fp32. Only decides which sizes are offered there.
double assumed_cpu_rate(const kernels::Device& device, DataType type) {
  return device.facts().compute_units * (type == DataType::fp64 ? 32e9 : 64e9);
}

// The sizes worth trying on this kind of device; prepare() still leaves out what turns out to take too long.
std::vector<std::int64_t> sizes_for(kernels::Platform& platform, DataType type, std::int64_t largest) {
  constexpr double cpu_seconds = 2;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : square_sizes) {
    if (n > largest) continue;
    const double rate = assumed_cpu_rate(*platform.devices()[0], type);
    if (is_cpu(platform) ? n > 4096 || (n > 1024 && GemmShape{n, n, n}.flop() > cpu_seconds * rate) : n < 2048)
      continue;
    sizes.push_back(n);
  }
  if (sizes.empty()) sizes.push_back(std::min(largest, square_sizes[0]));
  return sizes;
}

// Filling and checking go over every element a few times, at about 10 ns each on one core.
double setup_seconds(const GemmShape& shape) {
  const auto elements = static_cast<double>(shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  return 0.3 + 50e-9 * elements;
}

std::vector<Case> cases(kernels::Platform& platform, const Options& options, DataType type) {
  const std::vector<std::int64_t> sizes = sizes_for(platform, type, options.max_gemm);
  // Says "unsupported" here, before anything runs.
  platform.devices()[0]->make_gemm(type, {sizes[0], sizes[0], sizes[0]});
  const std::int64_t quick_limit = is_cpu(platform) ? 2048 : 8192;
  std::vector<Case> result;
  for (const std::int64_t n : sizes)
    result.push_back({.label = fmt::format("n:{}", n),
                      .value = n,
                      .quick = n <= quick_limit && n >= quick_limit / 2,
                      .setup_seconds = setup_seconds({n, n, n})});
  if (result.size() == 1) result[0].quick = true;
  if (!is_cpu(platform))
    for (std::size_t i = 0; i < layer_shapes.size(); ++i) {
      const GemmShape& shape = layer_shapes[i];
      if (std::max({shape.m, shape.n, shape.k}) > options.max_gemm) continue;
      result.push_back({.label = label_of(shape),
                        .value = static_cast<std::int64_t>(i),
                        .variant = "layer",
                        .quick = false,
                        .setup_seconds = setup_seconds(shape)});
    }
  const std::int64_t n = *std::find_if(sizes.rbegin(), sizes.rend(),
                                       [&](std::int64_t size) { return size <= quick_limit || size == sizes[0]; });
  // Integers have no exponent to save power on; their zeros are not asked for.
  if (type != DataType::int8)
    result.push_back(
        {.label = "zeros", .value = n, .variant = "zeros", .quick = false, .setup_seconds = setup_seconds({n, n, n})});
  return result;
}

struct Operands {
  std::unique_ptr<Buffer> a;
  std::unique_ptr<Buffer> b;
  std::unique_ptr<Buffer> c;
  bool used = false;
};

std::size_t bytes(DataType type, std::int64_t rows, std::int64_t columns) {
  const std::size_t stored = kernels::storage_bytes(type, static_cast<std::size_t>(rows * columns));
  return (stored + 15) / 16 * 16;
}

class GemmRun {
 public:
  GemmRun(Setting& setting, DataType type)
      : type_(type),
        shape_(shape_of(setting.chosen)),
        pattern_(setting.chosen.variant == "zeros" ? Pattern::zeros : Pattern::normal),
        seed_(setting.options.seed),
        lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)) {
    refuse_if_slow(setting);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      gemms_.push_back(lanes_.device(lane).make_gemm(type_, shape_));
    allocate(setting.options);
    iterate();  // the first loads code; the second says how long a pass takes
    passes_ = passes_for(setting.world.max(iterate().seconds));
  }

  Iteration iterate() {
    const std::size_t first = turn_;
    turn_ += static_cast<std::size_t>(passes_);
    Iteration iteration;
    iteration.device_seconds = lanes_.run([&](std::size_t lane, kernels::Stream& stream) {
      for (std::size_t turn = first; turn < turn_; ++turn) {
        Operands& set = sets_[lane][turn % sets_[lane].size()];
        gemms_[lane]->enqueue(stream, *set.a, *set.b, *set.c);
        set.used = true;
      }
    });
    iteration.seconds = slowest(iteration.device_seconds);
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      for (const Operands& set : sets_[lane])
        if (set.used) verify(lane, set);
  }

  // The sign of an entry in the middle of what the last pass of the last device left.
  void spoil() {
    const std::size_t lane = lanes_.size() - 1;
    Buffer& output = *sets_[lane][(turn_ - 1) % sets_[lane].size()].c;
    const std::size_t size = kernels::storage_bytes(gemms_[lane]->output_type(), 1);
    const std::size_t entries = static_cast<std::size_t>(shape_.m * shape_.n);
    // One bit below the sign: doubles or halves the exponent, or moves an integer by a quarter of its range.
    flip_bit(lanes_.device(lane), lanes_.stream(lane), output, entries / 2 * size + size - 1, 6);
  }

  double work() const { return passes_ * shape_.flop(); }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  nlohmann::json evidence() const { return {{"gemm", to_json(gemms_[0]->facts())}}; }

  nlohmann::json conditions() const {
    return {{"data_type", to_string(type_)},
            {"output_type", to_string(gemms_[0]->output_type())},
            {"data_pattern", pattern_ == Pattern::zeros ? "zeros" : "normal"},
            {"shape", {{"m", shape_.m}, {"n", shape_.n}, {"k", shape_.k}}},
            {"sparsity", "dense"},
            {"sets", sets_[0].size()},
            {"passes", passes_}};
  }

 private:
  // A small product first: a slow device must not be given one that runs for minutes.
  void refuse_if_slow(Setting& setting) {
    const std::int64_t n = std::min<std::int64_t>(512, std::min({shape_.m, shape_.n, shape_.k}));
    const GemmShape small{n, n, n};
    kernels::Device& device = lanes_.device(0);
    const std::unique_ptr<kernels::Gemm> gemm = device.make_gemm(type_, small);
    const auto a = device.allocate(bytes(type_, n, n));
    const auto b = device.allocate(bytes(type_, n, n));
    const auto c = device.allocate(bytes(gemm->output_type(), n, n));
    device.fill(lanes_.stream(0), *a, type_, Pattern::normal, seed_);
    device.fill(lanes_.stream(0), *b, type_, Pattern::normal, seed_ + 1);
    double seconds = 0;
    for (int i = 0; i < 3; ++i)
      seconds = lanes_.run([&](std::size_t, kernels::Stream& stream) { gemm->enqueue(stream, *a, *b, *c); }, 1)[0];
    const double expected = setting.world.max(seconds) * shape_.flop() / small.flop();
    const double limit = std::max(4 * setting.options.min_time_seconds, 0.05);
    if (expected > limit)
      throw kernels::unsupported(
          fmt::format("one product of this size would take about {:.1f} s here, more than the {:.1f} s that four times "
                      "the minimum time allow",
                      expected, limit),
          "raise the minimum time to measure it");
  }

  void allocate(const Options& options) {
    const DataType output = gemms_[0]->output_type();
    const std::size_t a = bytes(type_, shape_.k, shape_.m);
    const std::size_t b = bytes(type_, shape_.k, shape_.n);
    const std::size_t c = bytes(output, shape_.m, shape_.n);
    const std::size_t limit = memory_limit(lanes_.device(0), 1, options.max_bytes);
    if (a + b + c > limit)
      throw kernels::unsupported(
          fmt::format("the matrices take {} MiB, {} MiB may be used", (a + b + c) >> 20, limit >> 20));
    // Sets take turns so that the operands are not in a cache; four caches' worth, four sets at most.
    const std::size_t wanted = 4 * lanes_.device(0).facts().last_level_cache_bytes / (a + b + c) + 1;
    const std::size_t count = std::min({std::size_t{4}, wanted, limit / (a + b + c)});
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      sets_.emplace_back();
      for (std::size_t number = 0; number < count; ++number)
        sets_.back().push_back(make_set(lane, {a, b, c}, seed_ + 1000 * lane + 10 * number));
    }
    lanes_.wait();
  }

  Operands make_set(std::size_t lane, const std::array<std::size_t, 3>& sizes, std::uint64_t seed) {
    kernels::Device& device = lanes_.device(lane);
    kernels::Stream& stream = lanes_.stream(lane);
    Operands set{device.allocate(sizes[0]), device.allocate(sizes[1]), device.allocate(sizes[2])};
    device.fill(stream, *set.a, type_, pattern_, seed + 1);
    device.fill(stream, *set.b, type_, pattern_, seed + 2);
    // The other pattern, so that an output never written is seen.
    device.fill(stream, *set.c, gemms_[lane]->output_type(),
                pattern_ == Pattern::zeros ? Pattern::normal : Pattern::zeros, seed + 3);
    return set;
  }

  void verify(std::size_t lane, const Operands& set) {
    const DataType output = gemms_[lane]->output_type();
    const auto reader = [&, lane](Buffer& buffer, DataType type) {
      return [&, lane, type](std::size_t first, std::size_t count) {
        return download_values(lanes_.device(lane), lanes_.stream(lane), buffer, type, first, count);
      };
    };
    check_product({.shape = shape_,
                   .input_type = type_,
                   .output_type = output,
                   .a = reader(*set.a, type_),
                   .b = reader(*set.b, type_),
                   .c = reader(*set.c, output)},
                  seed_);
  }

  DataType type_;
  GemmShape shape_;
  Pattern pattern_;
  std::uint64_t seed_;
  Lanes lanes_;
  std::vector<std::unique_ptr<kernels::Gemm>> gemms_;  // of each lane
  std::vector<std::vector<Operands>> sets_;            // of each lane
  int passes_ = 1;
  std::size_t turn_ = 0;
};

Prepared prepare(Setting& setting, DataType type) {
  const auto run = std::make_shared<GemmRun>(setting, type);
  Prepared prepared;
  prepared.work = run->work();
  prepared.run = [run] { return run->iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

bool declare(DataType type, int priority) {
  const bool integer = type == DataType::int8;
  const std::string id = fmt::format("gemm.{}", to_string(type));
  return add(
      {.id = id,
       .metric = id + (integer ? ".tops" : ".tflops"),
       .unit = integer ? "TOPS" : "TFLOPS",
       .method = "gemm/1",
       .summary = fmt::format("Dense matrix product in {}, every device at once.", to_string(type)),
       .scope = Scope::each_device,
       .priority = priority,
       .cases = [type](kernels::Platform& platform, const Options& options) { return cases(platform, options, type); },
       .prepare = [type](Setting& setting) { return prepare(setting, type); }});
}

const bool declared = declare(DataType::fp64, 1) && declare(DataType::fp32, 1) && declare(DataType::tf32, 2) &&
                      declare(DataType::fp16, 2) && declare(DataType::bf16, 1) && declare(DataType::fp8_e4m3, 2) &&
                      declare(DataType::fp8_e5m2, 3) && declare(DataType::int8, 2) && declare(DataType::fp4, 2);

}  // namespace
}  // namespace claimcheck::bench

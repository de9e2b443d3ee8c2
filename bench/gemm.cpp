// Matrix products by data type: square sizes, shapes of real layers, and one size on zeros. All devices at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/gemm_load.h"

namespace claimcheck::bench {
namespace {

using kernels::DataType;
using kernels::GemmShape;

constexpr std::array<std::int64_t, 5> square_sizes = {1024, 2048, 4096, 8192, 16384};

// Llama 3.1 8B (hidden 4096, 8 of 32 heads for keys and values, feed-forward 14336) at 8192 tokens: the attention
// projection, and both directions of the feed-forward layer.
constexpr std::array<GemmShape, 3> layer_shapes = {{{8192, 6144, 4096}, {8192, 14336, 4096}, {8192, 4096, 14336}}};

GemmShape square(std::int64_t n) { return {n, n, n}; }

GemmShape shape_of(const Case& chosen) {
  return chosen.variant == "layer" ? layer_shapes[static_cast<std::size_t>(chosen.value)] : square(chosen.value);
}

// What to expect of a CPU before anything was timed, FLOP/s: 24 a core and ns in fp64 (8 lanes fused, 1.5 GHz), twice
// that in fp32. Decides which sizes are offered there and what the plan assumes.
double assumed_cpu_rate(const kernels::Device& device, DataType type) {
  return device.facts().compute_units * (type == DataType::fp64 ? 24e9 : 48e9);
}

// All three matrices; products of types below 32 bit are stored in 16, of integers in 32.
std::size_t matrices_bytes(DataType type, const GemmShape& shape) {
  const auto stored = [](DataType of, std::int64_t rows, std::int64_t columns) {
    return kernels::storage_bytes(of, static_cast<std::size_t>(rows * columns));
  };
  const bool narrow = kernels::storage_bytes(type, 2) < 8;
  const DataType output = type == DataType::int8 ? DataType::int32 : narrow ? DataType::fp16 : type;
  return stored(type, shape.m, shape.k) + stored(type, shape.k, shape.n) + stored(output, shape.m, shape.n);
}

// Of all the memory, not of what is free now: ids must not change from one process to the next.
bool fits(const kernels::Platform& platform, const kernels::Device& device, const Options& options, DataType type,
          const GemmShape& shape) {
  if (!is_gpu(platform)) return true;
  const std::size_t usable = device.facts().memory_bytes / 5 * 4;
  return matrices_bytes(type, shape) <= (options.max_bytes == 0 ? usable : std::min(usable, options.max_bytes));
}

// The sizes worth trying on this kind of device; prepare() still leaves out what turns out to take too long.
std::vector<std::int64_t> sizes_for(kernels::Platform& platform, DataType type, const Options& options) {
  constexpr double longest_cpu_seconds = 2;
  const kernels::Device& device = *platform.devices()[0];
  const double rate = assumed_cpu_rate(device, type);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : square_sizes) {
    const bool slow = n > 1024 && square(n).flop() > longest_cpu_seconds * rate;
    const bool fits_kind = is_gpu(platform) ? n >= 2048 : n <= 4096 && !slow;
    if (n <= options.max_gemm && fits_kind && fits(platform, device, options, type, square(n))) sizes.push_back(n);
  }
  if (sizes.empty()) sizes.push_back(std::min(options.max_gemm, square_sizes[0]));
  return sizes;
}

// On a CPU the smallest and what takes a quarter of a second; on a GPU the size that is near the best of all and done
// soonest. Many GPUs have hardly any fp64 units: there the smallest may be all that can be done in time.
bool is_quick(kernels::Platform& platform, DataType type, std::span<const std::int64_t> sizes, std::int64_t n) {
  if (!is_gpu(platform)) {
    const double rate = assumed_cpu_rate(*platform.devices()[0], type);
    return n == sizes[0] || square(n).flop() < 0.25 * rate;
  }
  if (type == DataType::fp8_e5m2) return false;  // as fast as e4m3 wherever both exist
  constexpr std::int64_t enough = 8192;
  const auto past = std::find_if(sizes.begin(), sizes.end(), [](std::int64_t size) { return size > enough; });
  const std::int64_t chosen = past == sizes.begin() ? sizes[0] : *(past - 1);
  return n == chosen || (type == DataType::fp64 && n == sizes[0]);
}

Case make_case(kernels::Platform& platform, DataType type, std::string label, std::int64_t value, std::string variant,
               bool quick) {
  Case made{.label = std::move(label), .value = value, .variant = std::move(variant), .quick = quick};
  const GemmShape shape = shape_of(made);
  const auto elements = static_cast<double>(shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
  if (!is_gpu(platform)) made.iteration_seconds = shape.flop() / assumed_cpu_rate(*platform.devices()[0], type);
  // Filling and checking go over every element a few times; passes, warm-up and clock check take some iterations. With
  // GPUs the library's algorithms are tried, and one set of operands is read for the check of all.
  made.setup_seconds =
      is_gpu(platform) ? 1 + 15e-9 * elements : 0.3 + 50e-9 * elements + 6 * made.iteration_seconds.value_or(0);
  return made;
}

std::vector<Case> cases(kernels::Platform& platform, const Options& options, DataType type) {
  const std::vector<std::int64_t> sizes = sizes_for(platform, type, options);
  const kernels::Device& device = *platform.devices()[0];
  // Says "unsupported" here, before anything runs.
  platform.devices()[0]->make_gemm(type, square(sizes[0]));
  std::int64_t largest_quick = sizes[0];
  std::vector<Case> result;
  for (const std::int64_t n : sizes) {
    const bool quick = is_quick(platform, type, sizes, n);
    if (quick) largest_quick = n;
    result.push_back(make_case(platform, type, fmt::format("n:{}", n), n, "", quick));
  }
  for (std::size_t i = 0; i < layer_shapes.size() && is_gpu(platform); ++i) {
    const auto& [m, n, k] = layer_shapes[i];
    if (std::max({m, n, k}) <= options.max_gemm && fits(platform, device, options, type, layer_shapes[i]))
      result.push_back(make_case(platform, type, fmt::format("m:{},n:{},k:{}", m, n, k), static_cast<std::int64_t>(i),
                                 "layer", false));
  }
  // Integers have no mantissa bits to keep still; their zeros are not asked for.
  if (type != DataType::int8) result.push_back(make_case(platform, type, "zeros", largest_quick, "zeros", false));
  return result;
}

// A small product first: a slow device must not be given one that runs for minutes.
void refuse_if_slow(Setting& setting, DataType type, const GemmShape& shape) {
  const std::int64_t n = std::min<std::int64_t>(512, std::min({shape.m, shape.n, shape.k}));
  const GemmOptions small{.type = type, .shape = square(n), .limit_bytes = std::size_t{1} << 30, .seed = 1};
  LoadRun run(setting, setting.platform.devices().first(1),
              [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
                return make_gemm_load(device, stream, small);
              });
  // The best of a few: what else the machine does must not decide.
  double rate = 0;
  for (int i = 0; i < 4; ++i) rate = std::max(rate, run.work() / setting.world.max(run.iterate().seconds));
  const double expected = shape.flop() / rate;
  const double limit = std::max(4 * setting.options.min_time_seconds, 1.0);
  if (expected > limit)
    throw kernels::unsupported(
        fmt::format("one product of this size would take about {:.1f} s here, {:.1f} s are allowed", expected, limit),
        "raise the minimum time of a repetition to a quarter of that to measure it");
}

Prepared prepare(Setting& setting, DataType type) {
  const Options& options = setting.options;
  const GemmShape shape = shape_of(setting.chosen);
  const auto pattern = setting.chosen.variant == "zeros" ? kernels::Pattern::zeros : kernels::Pattern::normal;
  refuse_if_slow(setting, type, shape);
  const auto references = std::make_shared<ProductReferences>();
  return prepared_from(std::make_shared<LoadRun>(
      setting, setting.platform.devices(), [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
        return make_gemm_load(device, stream,
                              {.type = type,
                               .shape = shape,
                               .pattern = pattern,
                               .limit_bytes = memory_limit(device, 1, options.max_bytes),
                               // Virtual units do not idle: their rate is the same for any size.
                               .wants_all_units = is_gpu(setting.platform) && !device.facts().is_virtual,
                               .seed = options.seed,
                               .references = references});
      }));
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

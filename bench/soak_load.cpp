#include "bench/soak_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "bench/reference.h"

namespace claimcheck::bench {

namespace {

using kernels::Buffer;
using kernels::DataType;
using kernels::MemoryKernel;
using kernels::Pattern;
using kernels::Slice;

constexpr double scalar = 0.75;
constexpr std::size_t count_stride = 16;   // slices begin at multiples of it
constexpr std::size_t most_outputs = 256;  // with their comparisons below what a stream holds (about a thousand)
constexpr std::size_t most_passes_of_round = 64;
constexpr double round_seconds = 0.25;
constexpr double memory_share = 0.25;  // of the time of the products
constexpr std::size_t piece = std::size_t{1} << 20;

std::size_t aligned(std::size_t bytes) { return (bytes + 511) / 512 * 512; }

std::size_t side_bytes(DataType type, std::int64_t n) {
  return aligned(kernels::storage_bytes(type, static_cast<std::size_t>(n) * static_cast<std::size_t>(n)));
}

}  // namespace

SoakLoad::SoakLoad(kernels::Device& device, const SoakSizes& sizes, std::uint64_t seed, kernels::Duration deadline)
    : device_(device),
      sizes_(sizes),
      deadline_(deadline),
      gemm_(device.make_gemm(sizes.type, {sizes.n, sizes.n, sizes.n})),
      stream_(device.make_stream()),
      gemm_timer_(device.make_timer()),
      memory_timer_(device.make_timer()) {
  const std::size_t input = side_bytes(sizes.type, sizes.n);
  const std::size_t output = side_bytes(gemm_->output_type(), sizes.n);
  const auto filled = [&](std::size_t bytes, DataType type, Pattern pattern, std::uint64_t with) {
    auto buffer = device.allocate(bytes);
    device.fill(*stream_, *buffer, type, pattern, with);
    return buffer;
  };
  a_ = filled(input, sizes.type, Pattern::normal, seed + 1);
  b_ = filled(input, sizes.type, Pattern::normal, seed + 2);
  first_product_ = filled(output, gemm_->output_type(), Pattern::zeros, 0);
  for (std::size_t i = 0; i < sizes.outputs; ++i)
    products_.push_back(filled(output, gemm_->output_type(), Pattern::zeros, 0));
  x_ = filled(sizes.array_bytes, DataType::fp64, Pattern::normal, seed + 3);
  y_ = filled(sizes.array_bytes, DataType::fp64, Pattern::normal, seed + 4);
  first_pass_ = filled(sizes.array_bytes, DataType::fp64, Pattern::zeros, 0);
  pass_ = filled(sizes.array_bytes, DataType::fp64, Pattern::zeros, 0);
  counts_ = filled((sizes.outputs + 1) * count_stride, DataType::fp64, Pattern::zeros, 0);
  gemm_->enqueue(*stream_, *a_, *b_, *first_product_);
  device.memory(*stream_, MemoryKernel::triad, *x_, *y_, *first_pass_, scalar);
  stream_->wait(deadline);
}

void SoakLoad::enqueue() {
  const auto count_of = [&](std::size_t number) { return Slice(*counts_, number * count_stride, count_stride); };
  gemm_timer_->start(*stream_);
  for (const auto& product : products_) gemm_->enqueue(*stream_, *a_, *b_, *product);
  gemm_timer_->stop(*stream_);
  memory_timer_->start(*stream_);
  for (std::size_t pass = 0; pass < sizes_.passes; ++pass)
    device_.memory(*stream_, MemoryKernel::triad, *x_, *y_, *pass_, scalar);
  memory_timer_->stop(*stream_);
  for (std::size_t i = 0; i < products_.size(); ++i)
    device_.compare(*stream_, *products_[i], *first_product_, count_of(i));
  device_.compare(*stream_, *pass_, *first_pass_, count_of(products_.size()));
}

std::vector<Corruption> SoakLoad::wait() {
  stream_->wait(deadline_);
  std::vector<double> counts((products_.size() + 1) * count_stride / sizeof(double));
  device_.download(*stream_, std::as_writable_bytes(std::span(counts)),
                   Slice(*counts_, 0, counts.size() * sizeof(double)));
  std::vector<Corruption> found;
  for (std::size_t i = 0; i <= products_.size(); ++i) {
    const double words = counts[i * count_stride / sizeof(double)];
    if (words == 0) continue;
    const bool product = i < products_.size();
    found.push_back(product ? locate("matrix product", i, *products_[i], *first_product_, words)
                            : locate("memory pass", 0, *pass_, *first_pass_, words));
  }
  return found;
}

RoundSeconds SoakLoad::seconds() const { return {gemm_timer_->seconds(), memory_timer_->seconds()}; }

// Where the difference is: read once, when there is one.
Corruption SoakLoad::locate(const char* operation, std::size_t output, Buffer& found, Buffer& first, double words) {
  Corruption corruption;
  corruption.operation = operation;
  corruption.output = output;
  corruption.words = static_cast<std::size_t>(words);
  for (std::size_t at = 0; at < found.size_bytes(); at += piece) {
    const std::size_t bytes = std::min(piece, found.size_bytes() - at);
    std::vector<std::uint64_t> mine(bytes / sizeof(std::uint64_t));
    std::vector<std::uint64_t> expected(mine.size());
    device_.download(*stream_, std::as_writable_bytes(std::span(mine)), Slice(found, at, bytes));
    device_.download(*stream_, std::as_writable_bytes(std::span(expected)), Slice(first, at, bytes));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i] == expected[i]) continue;
      corruption.first_word = at / sizeof(std::uint64_t) + i;
      corruption.expected = expected[i];
      corruption.found = mine[i];
      return corruption;
    }
  }
  return corruption;
}

Product SoakLoad::product() {
  const auto reader = [this](Buffer& buffer, DataType type) {
    return [this, &buffer, type](std::size_t first, std::size_t count) {
      return download_values(device_, *stream_, buffer, type, first, count);
    };
  };
  return {.shape = {sizes_.n, sizes_.n, sizes_.n},
          .input_type = sizes_.type,
          .output_type = gemm_->output_type(),
          .a = reader(*a_, sizes_.type),
          .b = reader(*b_, sizes_.type),
          .c = reader(*first_product_, gemm_->output_type())};
}

ProductReference SoakLoad::reference(std::uint64_t seed) { return ProductReference(product(), seed); }

void SoakLoad::verify(ProductReference& reference) {
  reference.check(product().c);
  const std::size_t elements = sizes_.array_bytes / sizeof(double);
  const auto values = [&](Buffer& buffer, std::size_t first, std::size_t count) {
    return download_values(device_, *stream_, buffer, DataType::fp64, first, count);
  };
  // A few pieces, the last one among them: every later pass is held against all of this one.
  constexpr std::size_t checked = std::size_t{1} << 16;
  const std::size_t step = std::max(checked, elements / 8 / checked * checked);
  for (std::size_t first = 0; first < elements; first += step) {
    const std::size_t count = std::min(checked, elements - first);
    check_memory(MemoryKernel::triad, values(*x_, first, count), values(*y_, first, count),
                 values(*first_pass_, first, count), scalar, first);
  }
}

void SoakLoad::spoil() { flip_bit(device_, *stream_, *first_pass_, 7, 4); }

double SoakLoad::flop() const {
  return static_cast<double>(sizes_.outputs) * kernels::GemmShape{sizes_.n, sizes_.n, sizes_.n}.flop();
}

double SoakLoad::bytes() const {
  return static_cast<double>(sizes_.passes) * arrays_moved(MemoryKernel::triad) *
         static_cast<double>(sizes_.array_bytes);
}

std::size_t SoakLoad::held_bytes() const {
  return a_->size_bytes() + b_->size_bytes() + (products_.size() + 1) * first_product_->size_bytes() +
         4 * sizes_.array_bytes;
}

namespace {

DataType first_type(kernels::Device& device, bool gpu) {
  if (!gpu) return DataType::fp32;
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    try {
      device.make_gemm(type, {256, 256, 256});
      return type;
    } catch (const kernels::Error& error) {
      if (error.detail().outcome != kernels::Outcome::unsupported) throw;
    }
  }
  return DataType::fp32;
}

// Two inputs, two outputs at least, all in half of what may be used.
std::int64_t side_for(DataType type, std::size_t limit_bytes, std::int64_t most) {
  constexpr std::int64_t least = 16;
  std::int64_t n = least;
  const auto bytes = [&](std::int64_t side) {
    return 2 * side_bytes(type, side) + 2 * side_bytes(DataType::fp32, side);
  };
  while (2 * n <= most && bytes(2 * n) <= limit_bytes / 2) n *= 2;
  if (bytes(n) > limit_bytes)
    throw kernels::unsupported(fmt::format("{} bytes may be used; a soak needs {} at least", limit_bytes, bytes(n)));
  return n;
}

}  // namespace

SoakSizes soak_sizes(kernels::Device& device, std::size_t limit_bytes, std::int64_t max_gemm, bool gpu,
                     kernels::Duration deadline) {
  SoakSizes sizes;
  sizes.type = first_type(device, gpu);
  sizes.n = side_for(sizes.type, limit_bytes, std::min<std::int64_t>(max_gemm, gpu ? 8192 : 1024));
  const std::size_t wanted = std::max<std::size_t>(std::size_t{64} << 20, 2 * device.facts().last_level_cache_bytes);
  sizes.array_bytes = std::max<std::size_t>(512, std::min(wanted, limit_bytes / 16) / 512 * 512);
  SoakLoad load(device, sizes, 1, deadline);
  const std::size_t output = side_bytes(kernels::DataType::fp32, sizes.n);
  const std::size_t fitting = std::max<std::size_t>(1, limit_bytes / 2 / output);
  for (int round = 0; round < 2; ++round) {  // the first loads code
    load.enqueue();
    load.wait();
  }
  const auto [gemm, memory] = load.seconds();
  const auto in_time = static_cast<std::size_t>(round_seconds / std::max(gemm, 1e-6));
  sizes.outputs = std::clamp<std::size_t>(in_time, 1, std::min(fitting, most_outputs));
  const double wanted_seconds = memory_share * gemm * static_cast<double>(sizes.outputs);
  sizes.passes = std::clamp<std::size_t>(static_cast<std::size_t>(wanted_seconds / std::max(memory, 1e-6)), 1,
                                         most_passes_of_round);
  return sizes;
}

}  // namespace claimcheck::bench

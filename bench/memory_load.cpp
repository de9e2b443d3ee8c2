#include "bench/memory_load.h"

#include <algorithm>
#include <optional>

#include "bench/reference.h"

namespace claimcheck::bench {

namespace {

using kernels::Buffer;
using kernels::DataType;
using kernels::MemoryKernel;
using kernels::Slice;

constexpr std::size_t alignment = 512;

// The arrays one pass goes over, and the scalar they were last used with (none: not used yet).
struct ArraySet {
  std::unique_ptr<Buffer> a;
  std::unique_ptr<Buffer> b;
  std::unique_ptr<Buffer> c;
  std::optional<double> scalar;
};

struct Sizes {
  std::size_t array_bytes;
  std::size_t sets;
};

// Four last-level caches over the arrays moved and 64 MiB an array at least, so that nothing stays in a cache between
// passes; two sets taking turns, or one where memory is short.
Sizes sizes_for(const kernels::Device& device, MemoryKernel kernel, std::size_t limit_bytes) {
  const auto moved = static_cast<std::size_t>(arrays_moved(kernel));
  const std::size_t wanted =
      std::max<std::size_t>(std::size_t{64} << 20, 4 * device.facts().last_level_cache_bytes / moved);
  const std::size_t sets = 2 * moved * wanted <= limit_bytes ? 2 : 1;
  const std::size_t bytes = std::min(wanted, limit_bytes / (moved * sets));
  return {std::max(alignment, bytes / alignment * alignment), sets};
}

class MemoryLoad final : public Load {
 public:
  MemoryLoad(kernels::Device& device, kernels::Stream& stream, MemoryKernel kernel, std::size_t limit_bytes,
             std::uint64_t seed)
      : device_(device), kernel_(kernel), sizes_(sizes_for(device, kernel, limit_bytes)) {
    for (std::size_t set = 0; set < sizes_.sets; ++set) sets_.push_back(make_set(stream, seed + 10 * set));
  }

  void enqueue(kernels::Stream& stream) override {
    ArraySet& set = sets_[static_cast<std::size_t>(turn_) % sets_.size()];
    // Another scalar every time, so that a kernel that stops writing is seen in what the last turn left.
    set.scalar = 0.5 + turn_ % 1024 / 512.0;
    ++turn_;
    device_.memory(stream, kernel_, set.a ? Slice(*set.a) : Slice(), set.b ? Slice(*set.b) : Slice(), *set.c,
                   *set.scalar);
  }

  void verify(kernels::Stream& stream) override {
    for (const ArraySet& set : sets_)
      if (set.scalar) verify(stream, set);
  }

  void spoil(kernels::Stream& stream) override {
    Buffer& output = *sets_[static_cast<std::size_t>(turn_ - 1) % sets_.size()].c;
    // The exponent of the middle element (of the sum, for read).
    const std::size_t element = kernel_ == MemoryKernel::read ? 0 : output.size_bytes() / sizeof(double) / 2;
    flip_bit(device_, stream, output, element * sizeof(double) + 7, 4);
  }

  double work() const override { return arrays_moved(kernel_) * static_cast<double>(sizes_.array_bytes); }

  nlohmann::json conditions() const override {
    return {{"data_type", "fp64"},
            {"data_pattern", "normal"},
            {"array_bytes", sizes_.array_bytes},
            {"sets", sizes_.sets},
            {"bytes_counted", "as STREAM, without write-allocate"}};
  }

 private:
  ArraySet make_set(kernels::Stream& stream, std::uint64_t seed) {
    ArraySet set;
    set.c = device_.allocate(kernel_ == MemoryKernel::read ? alignment : sizes_.array_bytes);
    device_.fill(stream, *set.c, DataType::fp64, kernels::Pattern::zeros, seed);
    if (kernel_ != MemoryKernel::write) set.a = make_input(stream, seed + 1);
    if (kernel_ == MemoryKernel::add || kernel_ == MemoryKernel::triad) set.b = make_input(stream, seed + 2);
    return set;
  }

  std::unique_ptr<Buffer> make_input(kernels::Stream& stream, std::uint64_t seed) {
    std::unique_ptr<Buffer> input = device_.allocate(sizes_.array_bytes);
    device_.fill(stream, *input, DataType::fp64, kernels::Pattern::normal, seed);
    return input;
  }

  // In pieces that stay in the host's cache.
  void verify(kernels::Stream& stream, const ArraySet& set) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    const std::size_t elements = sizes_.array_bytes / sizeof(double);
    ReferenceSum sum;
    for (std::size_t first = 0; first < elements; first += piece) {
      const std::size_t count = std::min(piece, elements - first);
      const std::vector<double> a = values(stream, set.a, first, count);
      if (kernel_ == MemoryKernel::read)
        sum.add(a);
      else
        check_memory(kernel_, a, values(stream, set.b, first, count), values(stream, set.c, first, count), *set.scalar,
                     first);
    }
    if (kernel_ == MemoryKernel::read) sum.check(values(stream, set.c, 0, 1)[0]);
  }

  std::vector<double> values(kernels::Stream& stream, const std::unique_ptr<Buffer>& buffer, std::size_t first,
                             std::size_t count) {
    if (!buffer) return {};
    return download_values(device_, stream, *buffer, DataType::fp64, first, count);
  }

  kernels::Device& device_;
  MemoryKernel kernel_;
  Sizes sizes_;
  std::vector<ArraySet> sets_;
  int turn_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_memory_load(kernels::Device& device, kernels::Stream& stream, MemoryKernel kernel,
                                       std::size_t limit_bytes, std::uint64_t seed) {
  return std::make_unique<MemoryLoad>(device, stream, kernel, limit_bytes, seed);
}

}  // namespace claimcheck::bench

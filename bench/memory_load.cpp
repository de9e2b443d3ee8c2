#include "bench/memory_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

#include "bench/facts_json.h"
#include "bench/reference.h"

namespace claimcheck::bench {

namespace {

using kernels::Buffer;
using kernels::DataType;
using kernels::MemoryKernel;
using kernels::Slice;

constexpr std::size_t alignment = 512;
constexpr std::size_t piece = std::size_t{1} << 16;  // elements

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
  std::size_t least_bytes;  // of an array; with less, caches and the time to start a pass have a share in the rate
};

// Four last-level caches over the arrays moved and 64 MiB an array at least, so that nothing stays in a cache between
// passes; two sets taking turns, or one where memory is short.
Sizes sizes_for(const kernels::Device& device, const MemoryOptions& options) {
  const std::size_t limit_bytes = options.limit_bytes;
  const auto moved = static_cast<std::size_t>(arrays_moved(options.kernel));
  const std::size_t least =
      std::max<std::size_t>(std::size_t{64} << 20, 4 * device.facts().last_level_cache_bytes / moved);
  const std::size_t wanted = std::max(least, options.wanted_bytes / moved);
  const std::size_t sets = 2 * moved * wanted <= limit_bytes ? 2 : 1;
  const std::size_t bytes = std::min(wanted, limit_bytes / (moved * sets));
  return {std::max(alignment, bytes / alignment * alignment), sets, least};
}

class MemoryLoad final : public Load {
 public:
  MemoryLoad(kernels::Device& device, kernels::Stream& stream, const MemoryOptions& options)
      : device_(device), kernel_(options.kernel), sums_(options.sums), sizes_(sizes_for(device, options)) {
    for (std::size_t set = 0; set < sizes_.sets; ++set) sets_.push_back(make_set(stream, options.seed + 10 * set));
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
    for (std::size_t number = 0; number < sets_.size(); ++number) {
      if (!sets_[number].scalar) continue;
      if (kernel_ == MemoryKernel::read)
        verify_sum(stream, number);
      else
        verify(stream, sets_[number]);
    }
  }

  void spoil(kernels::Stream& stream) override {
    Buffer& output = *sets_[static_cast<std::size_t>(turn_ - 1) % sets_.size()].c;
    // The exponent of the middle element that is checked (of the sum, for read).
    const std::vector<std::size_t> firsts = checked_pieces();
    const std::size_t element = kernel_ == MemoryKernel::read ? 0 : firsts[firsts.size() / 2];
    flip_bit(device_, stream, output, element * sizeof(double) + 7, 4);
  }

  double work() const override { return arrays_moved(kernel_) * static_cast<double>(sizes_.array_bytes); }

  nlohmann::json conditions() const override {
    nlohmann::json conditions = {{"data_type", "fp64"},
                                 {"data_pattern", "normal"},
                                 {"array_bytes", sizes_.array_bytes},
                                 {"sets", sizes_.sets},
                                 {"checked_share", checked_share()},
                                 {"bytes_counted", "as STREAM, without write-allocate"}};
    if (sizes_.array_bytes < sizes_.least_bytes / alignment * alignment)
      conditions["limited"] = fmt::format("arrays of {} bytes, where {} are the least for this device",
                                          sizes_.array_bytes, sizes_.least_bytes);
    // Kept in the memory itself, it costs bandwidth.
    const nlohmann::json ecc = to_json(fact_of(device_.facts().more, "ecc_enabled"));
    if (ecc.is_boolean()) conditions["ecc"] = ecc.get<bool>() ? "on" : "off";
    return conditions;
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

  // A read is checked by its sum, which is that of all elements.
  double checked_share() const {
    const double checked = static_cast<double>(checked_pieces().size() * std::min(piece, elements()));
    return kernel_ == MemoryKernel::read ? 1 : std::min(1.0, checked / static_cast<double>(elements()));
  }

  std::size_t elements() const { return sizes_.array_bytes / sizeof(double); }

  // Pieces that stay in the host's cache, by their first elements: all of up to 64 MiB, of more as many, at distances
  // that are no multiple of what a grid of threads covers at once, so that every thread is met. The last one always.
  std::vector<std::size_t> checked_pieces() const {
    constexpr std::size_t most = 128;
    const std::size_t pieces = (elements() + piece - 1) / piece;
    std::vector<std::size_t> firsts;
    std::mt19937_64 random(1);
    const std::size_t step = (pieces + most - 1) / most;
    for (std::size_t first = 0; first < pieces; first += step)
      firsts.push_back((first + random() % std::min(step, pieces - first)) * piece);
    if (firsts.back() != (pieces - 1) * piece) firsts.push_back((pieces - 1) * piece);
    return firsts;
  }

  void verify(kernels::Stream& stream, const ArraySet& set) {
    for (const std::size_t first : checked_pieces()) {
      const std::size_t count = std::min(piece, elements() - first);
      check_memory(kernel_, values(stream, set.a, first, count), values(stream, set.b, first, count),
                   values(stream, set.c, first, count), *set.scalar, first);
    }
  }

  void verify_sum(kernels::Stream& stream, std::size_t number) {
    const ArraySet& set = sets_[number];
    const auto [sum, made] = sums_->try_emplace({number, elements()});
    if (made)
      for (std::size_t first = 0; first < elements(); first += piece)
        sum->second.add(values(stream, set.a, first, std::min(piece, elements() - first)));
    sum->second.check(values(stream, set.c, 0, 1)[0]);
  }

  std::vector<double> values(kernels::Stream& stream, const std::unique_ptr<Buffer>& buffer, std::size_t first,
                             std::size_t count) {
    if (!buffer) return {};
    return download_values(device_, stream, *buffer, DataType::fp64, first, count);
  }

  kernels::Device& device_;
  MemoryKernel kernel_;
  std::shared_ptr<ReferenceSums> sums_;
  Sizes sizes_;
  std::vector<ArraySet> sets_;
  int turn_ = 0;
};

}  // namespace

std::size_t wanted_bytes(const kernels::Platform& platform, const kernels::Device& device) {
  constexpr std::size_t enough = std::size_t{3} << 29;
  return is_gpu(platform) ? std::min(enough, device.facts().memory_bytes / 32) : 0;
}

std::unique_ptr<Load> make_memory_load(kernels::Device& device, kernels::Stream& stream, const MemoryOptions& options) {
  return std::make_unique<MemoryLoad>(device, stream, options);
}

}  // namespace claimcheck::bench

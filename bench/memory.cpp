// Memory bandwidth: the six kernels of STREAM and BabelStream on every device at once, far beyond the caches.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/benchmark.h"
#include "bench/lanes.h"
#include "bench/reference.h"

namespace claimcheck::bench {
namespace {

using kernels::Buffer;
using kernels::DataType;
using kernels::MemoryKernel;
using kernels::Slice;

constexpr std::size_t alignment = 512;

bool uses_a(MemoryKernel kernel) { return kernel != MemoryKernel::write; }
bool uses_b(MemoryKernel kernel) { return kernel == MemoryKernel::add || kernel == MemoryKernel::triad; }

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

class MemoryRun {
 public:
  MemoryRun(Setting& setting, MemoryKernel kernel)
      : kernel_(kernel),
        lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)),
        sizes_(sizes_for(lanes_.device(0), kernel, memory_limit(lanes_.device(0), 1, setting.options.max_bytes))) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      sets_.emplace_back();
      for (std::size_t set = 0; set < sizes_.sets; ++set) sets_.back().push_back(make_set(lane, set, setting.options));
    }
    lanes_.wait();
    iterate();  // the first touches pages and caches; the second says how long a pass takes
    passes_ = passes_for(setting.world.max(iterate().seconds));
  }

  Iteration iterate() {
    const int first = turn_;
    turn_ += passes_;
    Iteration iteration;
    iteration.device_seconds = lanes_.run([&](std::size_t lane, kernels::Stream& stream) {
      for (int pass = 0; pass < passes_; ++pass) enqueue(lane, stream, first + pass);
    });
    iteration.seconds = slowest(iteration.device_seconds);
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      for (ArraySet& set : sets_[lane])
        if (set.scalar) verify(lane, set);
  }

  void spoil() {
    const auto last = static_cast<std::size_t>(turn_ - 1) % sizes_.sets;
    const std::size_t lane = lanes_.size() - 1;
    Buffer& output = *sets_[lane][last].c;
    // The exponent of the middle element (of the sum, for read).
    const std::size_t element = kernel_ == MemoryKernel::read ? 0 : output.size_bytes() / 16;
    flip_bit(lanes_.device(lane), lanes_.stream(lane), output, element * 8 + 7, 4);
  }

  double work() const {
    return static_cast<double>(passes_) * arrays_moved(kernel_) * static_cast<double>(sizes_.array_bytes);
  }

  nlohmann::json conditions() const {
    return {{"data_type", "fp64"}, {"data_pattern", "normal"}, {"array_bytes", sizes_.array_bytes},
            {"sets", sizes_.sets}, {"passes", passes_},        {"bytes_counted", "as STREAM, without write-allocate"}};
  }

  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }

 private:
  ArraySet make_set(std::size_t lane, std::size_t number, const Options& options) {
    kernels::Device& device = lanes_.device(lane);
    kernels::Stream& stream = lanes_.stream(lane);
    const std::uint64_t seed = options.seed + 1000 * lane + 10 * number;
    ArraySet set;
    const std::size_t result_bytes = kernel_ == MemoryKernel::read ? alignment : sizes_.array_bytes;
    set.c = device.allocate(result_bytes);
    device.fill(stream, *set.c, DataType::fp64, kernels::Pattern::zeros, seed);
    if (uses_a(kernel_)) {
      set.a = device.allocate(sizes_.array_bytes);
      device.fill(stream, *set.a, DataType::fp64, kernels::Pattern::normal, seed + 1);
    }
    if (uses_b(kernel_)) {
      set.b = device.allocate(sizes_.array_bytes);
      device.fill(stream, *set.b, DataType::fp64, kernels::Pattern::normal, seed + 2);
    }
    return set;
  }

  void enqueue(std::size_t lane, kernels::Stream& stream, int turn) {
    ArraySet& set = sets_[lane][static_cast<std::size_t>(turn) % sizes_.sets];
    // Another scalar every time, so that a kernel that stops writing is seen in what the last turn left.
    set.scalar = 0.5 + turn % 1024 / 512.0;
    lanes_.device(lane).memory(stream, kernel_, set.a ? Slice(*set.a) : Slice(), set.b ? Slice(*set.b) : Slice(),
                               *set.c, *set.scalar);
  }

  std::vector<double> values(std::size_t lane, const std::unique_ptr<Buffer>& buffer) {
    if (!buffer) return {};
    return download_values(lanes_.device(lane), lanes_.stream(lane), *buffer, DataType::fp64, 0,
                           buffer->size_bytes() / sizeof(double));
  }

  void verify(std::size_t lane, ArraySet& set) {
    check_memory(kernel_, values(lane, set.a), values(lane, set.b), values(lane, set.c), *set.scalar);
  }

  MemoryKernel kernel_;
  Lanes lanes_;
  Sizes sizes_;
  std::vector<std::vector<ArraySet>> sets_;  // of each lane
  int passes_ = 1;
  int turn_ = 0;
};

Prepared prepare(Setting& setting, MemoryKernel kernel) {
  const auto run = std::make_shared<MemoryRun>(setting, kernel);
  Prepared prepared;
  prepared.work = run->work();
  prepared.run = [run] { return run->iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  return prepared;
}

bool declare(MemoryKernel kernel, std::string formula, int priority) {
  const std::string id = fmt::format("memory.{}", to_string(kernel));
  return add({.id = id,
              .metric = id + ".gbps",
              .unit = "GB/s",
              .method = id + "/1",
              .summary = fmt::format("Memory bandwidth of every device at once, {}.", formula),
              .scope = Scope::each_device,
              .priority = priority,
              .setup_seconds = 1.5,
              .prepare = [kernel](Setting& setting) { return prepare(setting, kernel); }});
}

const bool declared = declare(MemoryKernel::triad, "c = a + s b", 1) && declare(MemoryKernel::read, "sum of a", 2) &&
                      declare(MemoryKernel::write, "c = s", 2) && declare(MemoryKernel::copy, "c = a", 2) &&
                      declare(MemoryKernel::scale, "c = s a", 2) && declare(MemoryKernel::add, "c = a + b", 2);

}  // namespace
}  // namespace claimcheck::bench

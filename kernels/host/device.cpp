#include "kernels/host/device.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "kernels/host/blas.h"
#include "kernels/host/memory_loops.h"
#include "kernels/host/neural.h"
#include "kernels/host/stream.h"
#include "kernels/host/watch.h"
#include "kernels/normal.h"

namespace claimcheck::kernels::host {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t small_bytes = std::size_t{1} << 20;
constexpr std::size_t page_doubles = page_bytes / sizeof(double);

Error mistake(std::string text) {
  return Error(
      {.outcome = Outcome::failed, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}});
}

// Long enough for any copy of memory at 100 MB/s, and for work that was enqueued before it.
Duration deadline_of_copy(std::size_t bytes) { return Duration(60.0 + static_cast<double>(bytes) / 1e8); }

// Enqueues `copy` and waits for it. When the wait fails, `copy` is not run any more: the caller's memory may be gone.
template <class Copy>
void run_now(Stream& stream, std::size_t bytes, Copy copy) {
  struct Permit {
    std::mutex mutex;
    bool valid = true;
  };
  const auto permit = std::make_shared<Permit>();
  host(stream).enqueue([permit, copy](const std::stop_token&) {
    const std::lock_guard lock(permit->mutex);
    if (permit->valid) copy();
  });
  try {
    stream.wait(deadline_of_copy(bytes));
  } catch (...) {
    const std::lock_guard lock(permit->mutex);
    permit->valid = false;
    throw;
  }
}

// The slices a kernel uses; the others stay empty.
struct Arrays {
  Region a;
  Region b;
  Region c;
  std::size_t count = 0;  // doubles in each
};

Arrays arrays_of(MemoryKernel kernel, const Slice& a, const Slice& b, const Slice& c) {
  const bool uses_a = kernel != MemoryKernel::write;
  const bool uses_b = kernel == MemoryKernel::add || kernel == MemoryKernel::triad;
  Arrays arrays;
  if (uses_a) arrays.a = region_of(a, "array a");
  if (uses_b) arrays.b = region_of(b, "array b");
  arrays.c = region_of(c, "array c");
  const std::size_t bytes = uses_a ? arrays.a.size_bytes : arrays.c.size_bytes;
  if (bytes % 16 != 0) throw mistake(fmt::format("arrays of {} bytes were given; expected a multiple of 16", bytes));
  if (uses_b && arrays.b.size_bytes != bytes)
    throw mistake(fmt::format("arrays a and b differ in size: {} and {} bytes", bytes, arrays.b.size_bytes));
  if (kernel == MemoryKernel::read ? arrays.c.size_bytes < sizeof(double) : arrays.c.size_bytes != bytes)
    throw mistake(fmt::format("array c has {} bytes; expected {}", arrays.c.size_bytes,
                              kernel == MemoryKernel::read ? "room for one double" : fmt::format("{}", bytes)));
  arrays.count = bytes / sizeof(double);
  return arrays;
}

void read_sum(Team& team, const Arrays& arrays) {
  struct alignas(64) Part {
    double sum = 0;
  };
  std::vector<Part> parts(static_cast<std::size_t>(team.size()));
  team.run([&](int thread) {
    const Share share = share_of(arrays.count, thread, team.size(), page_doubles);
    parts[static_cast<std::size_t>(thread)].sum =
        memory_loops().read(arrays.a.as<const double>() + share.first, share.count);
  });
  double sum = 0;
  for (const Part& part : parts) sum += part.sum;
  *arrays.c.as<double>() = sum;
}

void run_memory_kernel(Team& team, MemoryKernel kernel, const Arrays& arrays, double scalar, bool bypass) {
  if (kernel == MemoryKernel::read) return read_sum(team, arrays);
  const MemoryLoops& loops = memory_loops();
  team.run([&](int thread) {
    const auto [first, count] = share_of(arrays.count, thread, team.size(), page_doubles);
    const double* const a = arrays.a.as<const double>() + first;
    const double* const b = arrays.b.as<const double>() + first;
    double* const c = arrays.c.as<double>() + first;
    switch (kernel) {
      case MemoryKernel::read:
        return;
      case MemoryKernel::write:
        return loops.write(scalar, c, count, bypass);
      case MemoryKernel::copy:
        return loops.copy(a, c, count, bypass);
      case MemoryKernel::scale:
        return loops.scale(a, scalar, c, count, bypass);
      case MemoryKernel::add:
        return loops.add(a, b, c, count, bypass);
      case MemoryKernel::triad:
        return loops.triad(a, b, scalar, c, count, bypass);
    }
  });
}

void fill_normal(Team& team, const Region& target, DataType type, std::size_t elements, std::uint64_t seed) {
  constexpr std::size_t block = 1024;  // values; their doubles stay in the first-level cache
  const double scale = normal_scale(type);
  const std::uint64_t key = normal_key(seed);
  team.run([&](int thread) {
    const Share share = share_of(elements, thread, team.size(), 2 * page_bytes);
    std::array<double, block> values{};
    for (std::size_t done = 0; done < share.count; done += block) {
      const std::size_t first = share.first + done;
      const std::size_t count = std::min(block, share.count - done);
      memory_loops().normals(key, first / 2, values.data(), count + count % 2);
      if (scale != 1)
        for (std::size_t i = 0; i < count; ++i) values[i] *= scale;
      encode(type, std::span(values).first(count),
             {target.address + storage_bytes(type, first), storage_bytes(type, count)});
    }
  });
}

std::size_t elements_in(DataType type, std::size_t bytes) {
  if (type == DataType::fp4) return 2 * bytes;
  const std::size_t size = storage_bytes(type, 1);
  if (bytes % size != 0)
    throw mistake(fmt::format("{} bytes are no whole number of {} values", bytes, to_string(type)));
  return bytes / size;
}

}  // namespace

HostDevice::HostDevice(DeviceFacts facts, std::vector<int> cores, std::vector<int> all_cpus, bool whole_machine)
    : facts_(std::move(facts)),
      cores_(std::move(cores)),
      all_cpus_(std::move(all_cpus)),
      whole_machine_(whole_machine),
      team_(std::make_shared<Team>(cores_)) {}

std::unique_ptr<Watch> HostDevice::watch() { return watch_cores(cores_, whole_machine_); }

Facts HostDevice::sense() { return sense_cores(cores_, whole_machine_); }

std::unique_ptr<Stream> HostDevice::make_stream() { return std::make_unique<HostStream>(); }

std::unique_ptr<Timer> HostDevice::make_timer() { return std::make_unique<HostTimer>(); }

std::unique_ptr<Buffer> HostDevice::allocate(std::size_t size_bytes, Placement placement) {
  auto mapping = std::make_shared<Mapping>(size_bytes);
  // A page belongs to the memory next to the core that touches it first. Small buffers are left to whoever comes.
  if (size_bytes < small_bytes) return std::make_unique<HostBuffer>(std::move(mapping), size_bytes, placement);
  HostStream stream;
  stream.enqueue([team = team_, mapping, size_bytes](const std::stop_token&) {
    team->run([&](int thread) {
      const Share share = share_of(size_bytes, thread, team->size(), page_bytes);
      for (std::size_t at = 0; at < share.count; at += page_bytes) mapping->address()[share.first + at] = std::byte{0};
    });
  });
  stream.wait(deadline_of_copy(size_bytes));
  return std::make_unique<HostBuffer>(std::move(mapping), size_bytes, placement);
}

void HostDevice::fill(Stream& stream, Slice target, DataType type, Pattern pattern, std::uint64_t seed) {
  const std::size_t elements = elements_in(type, target.size_bytes);
  host(stream).enqueue([team = team_, region = region_of(target, "the slice to fill"), elements, type, pattern,
                        seed](const std::stop_token&) {
    if (pattern == Pattern::normal) return fill_normal(*team, region, type, elements, seed);
    team->run([&](int thread) {
      const Share share = share_of(region.size_bytes, thread, team->size(), page_bytes);
      std::memset(region.address + share.first, 0, share.count);
    });
  });
}

void HostDevice::upload(Stream& stream, Slice target, std::span<const std::byte> source) {
  if (source.size() != target.size_bytes)
    throw mistake(fmt::format("{} bytes cannot be uploaded to a slice of {}", source.size(), target.size_bytes));
  run_now(stream, source.size(), [region = region_of(target, "the slice to upload to"), source] {
    std::memcpy(region.address, source.data(), source.size());
  });
}

void HostDevice::download(Stream& stream, std::span<std::byte> target, Slice source) {
  if (target.size() != source.size_bytes)
    throw mistake(fmt::format("a slice of {} bytes cannot be downloaded to {}", source.size_bytes, target.size()));
  run_now(stream, target.size(), [region = region_of(source, "the slice to download"), target] {
    std::memcpy(target.data(), region.address, target.size());
  });
}

void HostDevice::memory(Stream& stream, MemoryKernel kernel, Slice a, Slice b, Slice c, double scalar) {
  const Arrays arrays = arrays_of(kernel, a, b, c);
  const std::size_t moved = arrays.count * sizeof(double) * static_cast<std::size_t>(arrays_moved(kernel));
  host(stream).enqueue([team = team_, kernel, arrays, scalar, bypass = past_caches(moved)](const std::stop_token&) {
    run_memory_kernel(*team, kernel, arrays, scalar, bypass);
  });
}

void HostDevice::compare(Stream& stream, Slice a, Slice b, Slice count) {
  if (a.size_bytes != b.size_bytes || a.size_bytes % 16 != 0 || count.size_bytes < sizeof(double))
    throw mistake(
        fmt::format("{} and {} bytes cannot be compared into {}: expected equal multiples of 16 bytes, and "
                    "room for one double",
                    a.size_bytes, b.size_bytes, count.size_bytes));
  host(stream).enqueue([team = team_, one = region_of(a, "the first slice to compare"),
                        other = region_of(b, "the second slice to compare"),
                        result = region_of(count, "the count of differences")](const std::stop_token&) {
    std::vector<std::size_t> parts(static_cast<std::size_t>(team->size()));
    team->run([&](int thread) {
      const Share share = share_of(one.size_bytes / sizeof(std::uint64_t), thread, team->size(), page_doubles);
      const auto* const x = one.as<const std::uint64_t>() + share.first;
      const auto* const y = other.as<const std::uint64_t>() + share.first;
      std::size_t differ = 0;
      for (std::size_t i = 0; i < share.count; ++i) differ += x[i] != y[i] ? 1 : 0;
      parts[static_cast<std::size_t>(thread)] = differ;
    });
    *result.as<double>() = static_cast<double>(std::accumulate(parts.begin(), parts.end(), std::size_t{0}));
  });
}

bool HostDevice::past_caches(std::size_t bytes) const {
  return facts_.last_level_cache_bytes != 0 && bytes > facts_.last_level_cache_bytes;
}

std::unique_ptr<Gemm> HostDevice::make_gemm(DataType type, const GemmShape& shape) {
  return make_blas_gemm(type, shape, cores_, all_cpus_);
}

// There is no copy engine in a CPU: both ways are loads and stores of this device's cores.
void HostDevice::copy(Stream& stream, Slice target, Slice source, CopyEngine /*engine*/) {
  if (target.size_bytes != source.size_bytes)
    throw mistake(fmt::format("{} bytes cannot be copied to a slice of {}", source.size_bytes, target.size_bytes));
  host(stream).enqueue([team = team_, to = region_of(target, "the slice to copy to"),
                        from = region_of(source, "the slice to copy from"),
                        bypass = past_caches(2 * target.size_bytes)](const std::stop_token&) {
    team->run([&](int thread) {
      const Share share = share_of(to.size_bytes, thread, team->size(), page_bytes);
      copy_bytes(to.address + share.first, from.address + share.first, share.count, bypass);
    });
  });
}

std::unique_ptr<Neural> HostDevice::make_neural() { return host::make_neural(team_, cores_, all_cpus_); }

void HostDevice::order(Stream& later, Stream& earlier) {
  const auto passed = std::make_shared<std::atomic<bool>>(false);
  host(earlier).enqueue([passed](const std::stop_token&) { passed->store(true, std::memory_order_release); });
  host(later).enqueue([passed](const std::stop_token& closing) {
    Patience patience;
    while (!passed->load(std::memory_order_acquire) && !closing.stop_requested()) patience.pause();
  });
}

}  // namespace claimcheck::kernels::host

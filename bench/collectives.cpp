// Collectives between all ranks, from 8 bytes to as much as makes sense, each result compared with one computed from
// the seeds of the inputs. Sizes and bus bandwidth as nccl-tests defines them (its doc/PERFORMANCE.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/benchmark.h"
#include "bench/facts_json.h"
#include "bench/lanes.h"
#include "bench/reference.h"

namespace claimcheck::bench {
namespace {

using kernels::Buffer;
using kernels::Collective;
using kernels::DataType;
using kernels::Slice;

constexpr DataType element_type = DataType::fp32;
constexpr std::size_t element_bytes = 4;

// Seconds on the bus per byte of the size S that is quoted, for n ranks: busbw = S / t x factor.
double bus_factor(Collective collective, double n) {
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::send_receive:
      return 1;
  }
  return 1;
}

// S is the whole of what one rank sends or receives, whichever is more. Elements of both buffers, and the count that
// Group::enqueue wants; S is rounded so that every rank has the same share.
struct Extent {
  std::size_t count = 0;
  std::size_t send = 0;
  std::size_t receive = 0;

  Extent(Collective collective, std::size_t size_bytes, std::size_t ranks) {
    const bool shared = collective == Collective::all_gather || collective == Collective::reduce_scatter ||
                        collective == Collective::all_to_all;
    const std::size_t whole = std::max<std::size_t>(1, size_bytes / element_bytes / (shared ? ranks : 1));
    count = whole;
    send = collective == Collective::reduce_scatter || collective == Collective::all_to_all ? whole * ranks : whole;
    receive = collective == Collective::all_gather || collective == Collective::all_to_all ? whole * ranks : whole;
  }
  double size_bytes() const { return static_cast<double>(std::max(send, receive) * element_bytes); }
};

// A stretch of one rank's output, and where the elements that make it lie in the inputs of others.
struct Stretch {
  std::size_t first = 0;  // in the output
  std::size_t length = 0;
  std::vector<std::pair<std::size_t, std::size_t>> sources;  // rank, first element of its input; summed
};

std::vector<Stretch> stretches(Collective collective, std::size_t rank, std::size_t ranks, std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> everyone;
  const std::size_t offset = collective == Collective::reduce_scatter ? rank * count : 0;
  for (std::size_t other = 0; other < ranks; ++other) everyone.emplace_back(other, offset);
  std::vector<Stretch> result;
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return {{0, count, everyone}};
    case Collective::broadcast:
      return {{0, count, {{0, 0}}}};
    case Collective::send_receive:
      return {{0, count, {{rank == 0 ? ranks - 1 : rank - 1, 0}}}};
    case Collective::all_gather:
    case Collective::all_to_all:
      for (std::size_t other = 0; other < ranks; ++other)
        result.push_back({other * count, count, {{other, collective == Collective::all_to_all ? rank * count : 0}}});
  }
  return result;
}

// The inputs of all ranks, also those of other processes, made again from their seeds on one local device. They are
// filled piece by piece, so that the reference needs little memory.
class Inputs {
 public:
  static constexpr std::size_t piece = std::size_t{1} << 16;  // stays in the host's cache

  explicit Inputs(std::uint64_t seed) : seed_(seed) {}

  void fill(kernels::Device& device, kernels::Stream& stream, Buffer& buffer, std::size_t rank,
            std::size_t elements) const {
    for (std::size_t first = 0; first < elements; first += piece) {
      const std::size_t length = std::min(piece, elements - first);
      device.fill(stream, Slice(buffer, first * element_bytes, length * element_bytes), element_type,
                  kernels::Pattern::normal, seed_of(rank, first / piece));
    }
  }

  // Elements first to first + length of a rank's input of `elements` elements.
  std::vector<double> read(kernels::Device& device, kernels::Stream& stream, std::size_t rank, std::size_t first,
                           std::size_t length, std::size_t elements) {
    std::vector<double> result;
    while (result.size() < length) {
      const std::size_t at = first + result.size();
      const std::vector<double>& values = piece_of(device, stream, rank, at / piece, elements);
      const std::size_t from = at % piece;
      const std::size_t take = std::min(length - result.size(), values.size() - from);
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
      result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(take));
    }
    return result;
  }

 private:
  struct Kept {
    std::size_t rank = 0;
    std::size_t number = 0;
    std::vector<double> values;
  };

  std::uint64_t seed_of(std::size_t rank, std::size_t number) const { return seed_ + (rank << 32) + number; }

  const std::vector<double>& piece_of(kernels::Device& device, kernels::Stream& stream, std::size_t rank,
                                      std::size_t number, std::size_t elements) {
    for (const Kept& kept : kept_)
      if (kept.rank == rank && kept.number == number) return kept.values;
    if (!scratch_) scratch_ = device.allocate(piece * element_bytes);
    const std::size_t length = std::min(piece, elements - number * piece);
    device.fill(stream, Slice(*scratch_, 0, length * element_bytes), element_type, kernels::Pattern::normal,
                seed_of(rank, number));
    // A few are kept: ranks are checked piece by piece, and want the same ones.
    if (kept_.size() >= 64) kept_.erase(kept_.begin());
    kept_.push_back({rank, number, download_values(device, stream, *scratch_, element_type, 0, length)});
    return kept_.back().values;
  }

  std::uint64_t seed_;
  std::unique_ptr<Buffer> scratch_;
  std::vector<Kept> kept_;
};

class CollectiveRun {
 public:
  CollectiveRun(Setting& setting, Collective collective, std::size_t size_bytes, bool in_place)
      : collective_(collective),
        in_place_(in_place),
        deadline_(setting.options.deadline_seconds),
        lanes_(setting.platform, setting.platform.ranks(), deadline_),
        group_(setting.platform.make_group(setting.platform.ranks(), setting.world)),
        ranks_(static_cast<std::size_t>(group_->size())),
        extent_(collective, size_bytes, ranks_),
        inputs_(setting.options.seed) {
    if (ranks_ < 2) throw kernels::unsupported("there is one rank only, nobody to exchange with");
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) allocate(lane);
    lanes_.wait();
    // In place every pass multiplies the values by the number of ranks; they must stay within fp32.
    const int most = in_place_ ? static_cast<int>(30 / std::log10(static_cast<double>(ranks_))) : 1000;
    passes_ = find_passes(
        [&](int passes) {
          passes_ = passes;
          return setting.world.max(iterate().seconds);
        },
        most);
  }

  Iteration iterate() {
    double restoring = 0;
    if (in_place_)
      restoring = slowest(lanes_.run([this](std::size_t lane, kernels::Stream& stream) {
        lanes_.device(lane).copy(stream, *received_[lane], *sent_[lane], kernels::CopyEngine::copy_engine);
      }));
    const std::vector<double> seconds = lanes_.run_together(
        [this] {
          for (int pass = 0; pass < passes_; ++pass)
            group_->enqueue(collective_, buffers_, extent_.count, element_type, lanes_.streams());
        },
        [this] { group_->wait(lanes_.streams(), deadline_); });
    Iteration iteration;  // all ranks take part in one thing: no value of each device
    iteration.seconds = slowest(seconds);
    iteration.busy_seconds = iteration.seconds + restoring;
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::size_t rank = static_cast<std::size_t>(group_->first_rank()) + lane;
      for (const Stretch& stretch : stretches(collective_, rank, ranks_, extent_.count)) verify(lane, rank, stretch);
    }
  }

  void spoil() {
    const std::size_t lane = lanes_.size() - 1;
    flip_bit(lanes_.device(lane), lanes_.stream(lane), *received_[lane], (extent_.receive - 1) * element_bytes + 3, 4);
  }

  double bytes_moved() const { return passes_ * extent_.size_bytes(); }
  double bus_bytes() const { return bytes_moved() * bus_factor(collective_, static_cast<double>(ranks_)); }
  int passes() const { return passes_; }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  nlohmann::json evidence() const { return {{"group", to_json(group_->facts())}}; }

  nlohmann::json conditions() const {
    return {{"data_type", to_string(element_type)},
            {"data_pattern", "normal"},
            {"bytes", extent_.size_bytes()},
            {"ranks", ranks_},
            {"in_place", in_place_},
            {"passes", passes_}};
  }

 private:
  void allocate(std::size_t lane) {
    kernels::Device& device = lanes_.device(lane);
    kernels::Stream& stream = lanes_.stream(lane);
    sent_.push_back(device.allocate(extent_.send * element_bytes));
    received_.push_back(device.allocate(extent_.receive * element_bytes));
    inputs_.fill(device, stream, *sent_[lane], static_cast<std::size_t>(group_->first_rank()) + lane, extent_.send);
    device.fill(stream, *received_[lane], element_type, kernels::Pattern::zeros, 0);
    buffers_.push_back({in_place_ ? Slice(*received_[lane]) : Slice(*sent_[lane]), *received_[lane]});
  }

  // All of up to 64 MiB; of more every second, third, ... piece and the last, since the host makes the reference.
  void verify(std::size_t lane, std::size_t rank, const Stretch& stretch) {
    constexpr std::size_t most_pieces = 256;
    const std::size_t step = (stretch.length / Inputs::piece + most_pieces) / most_pieces * Inputs::piece;
    for (std::size_t done = 0; done < stretch.length; done += step)
      verify(lane, rank, stretch, done, std::min(Inputs::piece, stretch.length - done));
    if (step == Inputs::piece) return;
    const std::size_t last = (stretch.length - 1) / Inputs::piece * Inputs::piece;
    verify(lane, rank, stretch, last, stretch.length - last);
  }

  void verify(std::size_t lane, std::size_t rank, const Stretch& stretch, std::size_t done, std::size_t length) {
    kernels::Device& device = lanes_.device(lane);
    kernels::Stream& stream = lanes_.stream(lane);
    std::vector<double> expected(length, 0.0);
    for (const auto& [source, first] : stretch.sources) {
      const std::vector<double> input =
          inputs_.read(lanes_.device(0), lanes_.stream(0), source, first + done, length, extent_.send);
      for (std::size_t i = 0; i < length; ++i) expected[i] += input[i];
    }
    const double growth = in_place_ ? std::pow(static_cast<double>(ranks_), passes_ - 1) : 1;
    for (double& value : expected) value *= growth;
    // A sum of n values below 8 (normal: beyond 8 only once in 10^15), rounded at most n times in each pass.
    const bool summed = stretch.sources.size() > 1;
    const auto n = static_cast<double>(ranks_);
    const double tolerance = summed ? 8 * n * n * growth * passes_ * kernels::unit_roundoff(element_type) : 0;
    const std::vector<double> actual =
        download_values(device, stream, *received_[lane], element_type, stretch.first + done, length);
    check_close(actual, expected, tolerance,
                fmt::format("{} on rank {} from element {}", to_string(collective_), rank, stretch.first + done));
  }

  Collective collective_;
  bool in_place_;
  kernels::Duration deadline_;
  Lanes lanes_;
  std::unique_ptr<kernels::Group> group_;
  std::size_t ranks_;
  Extent extent_;
  Inputs inputs_;
  std::vector<std::unique_ptr<Buffer>> sent_;      // of each lane; in place: the values to start from
  std::vector<std::unique_ptr<Buffer>> received_;  // of each lane
  std::vector<kernels::Group::Buffers> buffers_;   // of each lane
  int passes_ = 1;
};

constexpr std::int64_t smallest_bytes = 8;

// In steps of 8 and the largest: on a CPU where the buffers of all ranks take four caches (16 MiB to 1 GiB), on GPUs
// 8 GiB, as far as both buffers fit into a quarter of the memory. All of it, not what is free now: ids must not change
// from one process to the next.
std::vector<std::int64_t> sizes(kernels::Platform& platform, const Options& options) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const bool cpu = platform.kind() == "host";
  const std::size_t ranks = platform.ranks().size();
  const kernels::DeviceFacts& rank = platform.ranks()[0]->facts();
  const std::size_t share = rank.memory_bytes / 4 / (cpu ? ranks : 1);
  const std::size_t limit = (options.max_bytes == 0 ? share : std::min(share, options.max_bytes)) / 2;
  const std::size_t beyond_cache = 4 * rank.last_level_cache_bytes / (2 * ranks);
  const std::size_t wanted = cpu ? std::clamp(beyond_cache, 16 * mib, 1024 * mib) : 8192 * mib;
  const auto largest = static_cast<std::int64_t>(std::min(wanted, limit) / 4096 * 4096);
  std::vector<std::int64_t> result;
  for (std::int64_t bytes = smallest_bytes; 2 * bytes <= largest; bytes *= 8) result.push_back(bytes);
  result.push_back(std::max(largest, smallest_bytes));
  return result;
}

void refuse_single(kernels::Platform& platform) {
  if (platform.ranks().size() < 2)
    throw kernels::unsupported("there is one rank only, nobody to exchange with",
                               "collectives need two devices, or two CPU cores");
}

// The quick profile takes what training needs most: the largest size of three, and of all-reduce also the one before,
// which shows whether it still grows.
std::vector<Case> cases(kernels::Platform& platform, const Options& options, Collective collective) {
  refuse_single(platform);
  const std::vector<std::int64_t> all = sizes(platform, options);
  const bool first = collective == Collective::all_reduce;
  const bool quick = first || collective == Collective::all_gather || collective == Collective::reduce_scatter;
  std::vector<Case> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double setup = 0.2 + 30e-9 * static_cast<double>(all[i]);
    const std::string label = fmt::format("bytes:{}", all[i]);
    result.push_back(
        {.label = label, .value = all[i], .quick = quick && i + (first ? 2 : 1) >= all.size(), .setup_seconds = setup});
    if (first && i + 1 == all.size())
      result.push_back({.label = label + "/in_place",
                        .value = all[i],
                        .variant = "in_place",
                        .quick = false,
                        .setup_seconds = setup});
  }
  return result;
}

Prepared prepared_from(const std::shared_ptr<CollectiveRun>& run) {
  Prepared prepared;
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.run = [run] { return run->iterate(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

Prepared prepare_bandwidth(Setting& setting, Collective collective, const std::string& algbw) {
  const auto run = std::make_shared<CollectiveRun>(setting, collective, static_cast<std::size_t>(setting.chosen.value),
                                                   setting.chosen.variant == "in_place");
  Prepared prepared = prepared_from(run);
  prepared.work = run->bus_bytes();
  prepared.run = [run, algbw] {
    Iteration iteration = run->iterate();
    iteration.also = {{algbw, run->bytes_moved() / iteration.seconds / 1e9}};
    return iteration;
  };
  return prepared;
}

Prepared prepare_latency(Setting& setting, Collective collective) {
  const auto run = std::make_shared<CollectiveRun>(setting, collective, smallest_bytes, false);
  Prepared prepared = prepared_from(run);
  prepared.work = run->passes();
  return prepared;
}

bool declare(Collective collective, const std::string& id, const std::string& what, int priority) {
  const std::string algbw = id + ".algbw.gbps";
  const bool bandwidth =
      add({.id = id,
           .metric = id + ".busbw.gbps",
           .unit = "GB/s",
           .method = id + "/1",
           .summary = fmt::format("Bus bandwidth of {} between all ranks.", what),
           .scope = Scope::ranks,
           .priority = priority,
           .also = {{algbw, "GB/s"}},
           .cases = [collective](kernels::Platform& platform,
                                 const Options& options) { return cases(platform, options, collective); },
           .prepare = [collective, algbw](Setting& setting) { return prepare_bandwidth(setting, collective, algbw); }});
  const bool latency =
      add({.id = id + ".latency",
           .metric = id + ".latency.us",
           .unit = "us",
           .method = id + ".latency/1",
           .summary = fmt::format("Time of {} of 8 bytes between all ranks.", what),
           .scope = Scope::ranks,
           .rate = Rate::seconds,
           .priority = priority + 1,
           .quick = collective == Collective::all_reduce,
           .setup_seconds = 0.2,
           .cases =
               [](kernels::Platform& platform, const Options&) {
                 refuse_single(platform);
                 return std::vector<Case>{Case{}};
               },
           .prepare = [collective](Setting& setting) { return prepare_latency(setting, collective); }});
  return bandwidth && latency;
}

const bool declared = declare(Collective::all_reduce, "allreduce", "an all-reduce", 1) &&
                      declare(Collective::all_gather, "allgather", "an all-gather", 2) &&
                      declare(Collective::reduce_scatter, "reducescatter", "a reduce-scatter", 2) &&
                      declare(Collective::broadcast, "broadcast", "a broadcast", 2) &&
                      declare(Collective::send_receive, "sendrecv", "a send and a receive", 2) &&
                      declare(Collective::all_to_all, "alltoall", "an all-to-all", 2);

}  // namespace
}  // namespace claimcheck::bench

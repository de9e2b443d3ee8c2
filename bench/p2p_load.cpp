// Latency of one load from another device's memory over the link: one thread follows a chain of addresses there.
#include <fmt/format.h>

#include <algorithm>

#include "bench/chain.h"
#include "bench/pair_run.h"
#include "bench/reference.h"

namespace claimcheck::bench {
namespace {

using kernels::Slice;

// One cycle of 512 KiB: more than the cache of a multiprocessor holds, less than the last-level cache of the device it
// lies on, so that the link is what is timed.
constexpr std::size_t working_set_bytes = Chains::most_nodes * Chains::line_bytes;
constexpr std::size_t slot_bytes = 16;

std::vector<Pair> direct_pairs(kernels::Platform& platform) {
  const std::span<kernels::Device* const> devices = platform.devices();
  std::vector<Pair> pairs = ordered_pairs(devices.size());
  std::erase_if(pairs, [&](const Pair& pair) {
    return platform.access(*devices[pair.first], *devices[pair.second]) != kernels::Access::direct;
  });
  if (pairs.empty()) throw kernels::unsupported("no device reaches another's memory: copies go through the host");
  return pairs;
}

class PeerLoads {
 public:
  explicit PeerLoads(Setting& setting)
      : lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)),
        chains_(working_set(setting), setting.options.seed) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      kernels::Device& device = lanes_.device(lane);
      lists_.push_back(device.allocate(chains_.size_bytes()));
      device.upload(lanes_.stream(lane), *lists_[lane], std::as_bytes(chains_.list()));
      ends_.push_back(device.allocate(slot_bytes * lanes_.size()));
      forget(lane);
    }
    lanes_.wait();
    pairs_ = std::make_unique<PairRun>(setting, lanes_, direct_pairs(setting.platform), false,
                                       [this](const Pair& pair, int passes) { return walk(pair, passes); });
  }

  PairRun& pairs() { return *pairs_; }
  const Chains& chains() const { return chains_; }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }

  // Where each walk since the last check arrived; then forgets it.
  void verify() {
    for (const auto& [first, second] : pairs_->pairs()) {
      std::uint64_t end = 0;
      lanes_.device(first).download(lanes_.stream(first), std::as_writable_bytes(std::span(&end, 1)),
                                    Slice(*ends_[first], slot_bytes * second, sizeof end));
      if (end != chains_.end(0))
        throw kernels::wrong_result(
            fmt::format("device {} in the memory of device {}: {} loads end at index {}, "
                        "expected {}",
                        first, second, chains_.loads(), end, chains_.end(0)));
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) forget(lane);
  }
  void spoil() {
    const auto& [first, second] = pairs_->pairs().back();
    flip_bit(lanes_.device(first), lanes_.stream(first), *ends_[first], slot_bytes * second, 5);
  }

 private:
  static std::size_t working_set(const Setting& setting) {
    std::size_t bytes = working_set_bytes;
    for (const kernels::Device* device : setting.platform.devices())
      bytes = std::min({bytes, memory_limit(*device, 1, setting.options.max_bytes) / 2,
                        std::max(device->facts().last_level_cache_bytes, std::size_t{1} << 16)});
    return bytes;
  }

  double walk(const Pair& pair, int passes) {
    const std::vector<std::size_t> chosen = {pair.first};
    return lanes_.run(
        [&](std::size_t lane, kernels::Stream& stream) {
          for (int pass = 0; pass < passes; ++pass)
            lanes_.device(lane).chase(stream, *lists_[pair.second], chains_.loads(),
                                      Slice(*ends_[lane], slot_bytes * pair.second, slot_bytes));
        },
        chosen)[0];
  }

  void forget(std::size_t lane) {
    const std::vector<std::byte> nowhere(ends_[lane]->size_bytes(), std::byte{0xff});
    lanes_.device(lane).upload(lanes_.stream(lane), *ends_[lane], nowhere);
  }

  Lanes lanes_;
  Chains chains_;
  std::vector<std::unique_ptr<kernels::Buffer>> lists_;  // of each device
  std::vector<std::unique_ptr<kernels::Buffer>> ends_;   // of each device, a slot for each other
  std::unique_ptr<PairRun> pairs_;
};

Prepared prepare(Setting& setting) {
  const auto run = std::make_shared<PeerLoads>(setting);
  const auto loads = static_cast<double>(run->chains().loads());
  Prepared prepared;
  prepared.work = loads;
  prepared.run = [run] { return run->pairs().iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = link_conditions(setting.platform, run->pairs().pairs());
  prepared.conditions.update(nlohmann::json{{"working_set_bytes", run->chains().size_bytes()},
                                            {"loads", run->chains().loads()},
                                            {"statistic", "each pair"},
                                            {"count", run->devices().size()}});
  prepared.evidence = [run, loads, access = access_matrix(setting.platform)] {
    const auto nanoseconds = [loads](double seconds) { return seconds / loads * 1e9; };
    return nlohmann::json{{"matrix_ns", run->pairs().matrix(nanoseconds)}, {"access", access}};
  };
  return prepared;
}

const bool declared = add({.id = "p2p.load.latency",
                           .metric = "p2p.load.latency.ns",
                           .unit = "ns",
                           .method = "p2p.load.latency/1",
                           .summary = "Time of one load from another device's memory; the slowest pair.",
                           .rate = Rate::seconds,
                           .setup_seconds = 1,
                           .cases =
                               [](kernels::Platform& platform, const Options&) {
                                 require_pair(platform);
                                 direct_pairs(platform);
                                 return std::vector<Case>{Case{}};
                               },
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

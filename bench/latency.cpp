// Latency of one load from the last-level cache and from device memory: one thread follows a chain of addresses.
#include <fmt/format.h>

#include <algorithm>

#include "bench/chain.h"
#include "bench/load.h"
#include "bench/reference.h"

namespace claimcheck::bench {
namespace {

using kernels::Slice;

constexpr const char* not_a_gpu = "latency of single loads is measured on GPUs only";
constexpr std::size_t slot_bytes = 16;  // of each chain's result

class ChaseLoad final : public Load {
 public:
  ChaseLoad(kernels::Device& device, kernels::Stream& stream, std::shared_ptr<const Chains> chains)
      : device_(device),
        chains_(std::move(chains)),
        list_(device.allocate(chains_->size_bytes())),
        ends_(device.allocate(slot_bytes * chains_->count())),
        walked_(chains_->count(), false) {
    device.upload(stream, *list_, std::as_bytes(chains_->list()));
    forget(stream);
  }

  void enqueue(kernels::Stream& stream) override {
    const std::size_t chain = turn_++ % chains_->count();
    walked_[chain] = true;
    const std::size_t offset = chains_->offset_bytes(chain);
    device_.chase(stream, Slice(*list_, offset, list_->size_bytes() - offset), chains_->loads(),
                  Slice(*ends_, chain * slot_bytes, slot_bytes));
  }

  // Where each walk since the last check arrived; then forgets it, so that walks not taken are seen the next time.
  void verify(kernels::Stream& stream) override {
    std::vector<std::uint64_t> found(ends_->size_bytes() / sizeof(std::uint64_t));
    device_.download(stream, std::as_writable_bytes(std::span(found)), *ends_);
    for (std::size_t chain = 0; chain < walked_.size(); ++chain) {
      const std::uint64_t end = found[chain * slot_bytes / sizeof(std::uint64_t)];
      if (walked_[chain] && end != chains_->end(chain))
        throw kernels::wrong_result(fmt::format("chain {}: {} loads end at index {}, expected {}", chain,
                                                chains_->loads(), end, chains_->end(chain)));
    }
    forget(stream);
  }

  void spoil(kernels::Stream& stream) override {
    flip_bit(device_, stream, *ends_, (turn_ - 1) % chains_->count() * slot_bytes, 5);
  }

  double work() const override { return static_cast<double>(chains_->loads()); }

  nlohmann::json conditions() const override {
    return {{"working_set_bytes", chains_->size_bytes()},
            {"loads", chains_->loads()},
            {"cycles", chains_->count()},
            {"distance_bytes", Chains::line_bytes}};
  }

 private:
  void forget(kernels::Stream& stream) {
    const std::vector<std::byte> nowhere(ends_->size_bytes(), std::byte{0xff});
    device_.upload(stream, *ends_, nowhere);
    std::fill(walked_.begin(), walked_.end(), false);
  }

  kernels::Device& device_;
  std::shared_ptr<const Chains> chains_;
  std::unique_ptr<kernels::Buffer> list_;
  std::unique_ptr<kernels::Buffer> ends_;
  std::vector<bool> walked_;
  std::size_t turn_ = 0;
};

// Half of the cache, so that all of it stays there; or four times the cache, so that nothing does.
std::size_t working_set(const kernels::Device& device, bool in_cache, const Options& options) {
  const std::size_t cache = device.facts().last_level_cache_bytes;
  if (cache == 0) throw kernels::unsupported("the size of the last-level cache is unknown");
  const std::size_t wanted = in_cache ? cache / 2 : 4 * cache;
  const std::size_t limit = memory_limit(device, 1, options.max_bytes);
  if (wanted > limit)
    throw kernels::unsupported(
        fmt::format("the working set of {} MiB is more than the {} MiB allowed", wanted >> 20, limit >> 20),
        "raise --max-bytes, or free memory of the device");
  return wanted;
}

Prepared prepare(Setting& setting, bool in_cache) {
  const std::span<kernels::Device* const> devices = setting.platform.devices();
  const auto chains =
      std::make_shared<const Chains>(working_set(*devices[0], in_cache, setting.options), setting.options.seed);
  return prepared_from(
      std::make_shared<LoadRun>(setting, devices, [&](kernels::Device& device, kernels::Stream& stream, std::size_t) {
        return std::make_unique<ChaseLoad>(device, stream, chains);
      }));
}

bool declare(const std::string& id, bool in_cache, const char* where) {
  return add({.id = id,
              .metric = id + ".ns",
              .unit = "ns",
              .method = id + "/1",
              .summary = fmt::format("Time of one load from {} that waits for the one before.", where),
              .rate = Rate::seconds,
              .setup_seconds = 1.5,
              .cases =
                  [](kernels::Platform& platform, const Options&) {
                    require_gpu(platform, not_a_gpu);
                    return std::vector<Case>{Case{}};
                  },
              .prepare = [in_cache](Setting& setting) { return prepare(setting, in_cache); }});
}

const bool declared =
    declare("memory.l2.latency", true, "the last-level cache") && declare("memory.hbm.latency", false, "device memory");

}  // namespace
}  // namespace claimcheck::bench

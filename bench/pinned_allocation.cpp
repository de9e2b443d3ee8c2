// How fast pinned host memory is made ready: the driver finds, locks and maps its pages. Timed by the host's clock, as
// no stream takes part.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "bench/copy_path.h"
#include "bench/lanes.h"

namespace claimcheck::bench {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::Placement;

class AllocationRun {
 public:
  explicit AllocationRun(Setting& setting)
      : lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)) {
    const std::size_t limit = memory_limit(lanes_.device(0), 1, setting.options.max_bytes) / 4;
    const std::size_t bytes =
        std::max<std::size_t>(4096, std::min<std::size_t>(std::size_t{256} << 20, limit) / 4096 * 4096);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      sources_.push_back(std::make_shared<const CopySources>(lanes_.device(lane), lanes_.stream(lane),
                                                             Placement::device, bytes, setting.options.seed + lane));
      paths_.emplace_back();
    }
    lanes_.wait();
  }

  // One device after the other: allocations from several threads wait for each other in the driver. What was allocated
  // is then filled by the device, untimed, which proves that it can reach it.
  Iteration iterate() {
    Iteration iteration;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      paths_[lane].reset();
      const Clock::time_point start = Clock::now();
      std::unique_ptr<kernels::Buffer> made = lanes_.device(lane).allocate(bytes(), Placement::pinned_host);
      iteration.device_seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      paths_[lane].emplace(std::move(made), sources_[lane]);
      paths_[lane]->enqueue(lanes_.device(lane), lanes_.stream(lane), kernels::CopyEngine::copy_engine, 1);
      iteration.busy_seconds += iteration.device_seconds.back();
    }
    lanes_.wait();
    iteration.host_seconds = iteration.busy_seconds;
    iteration.seconds = slowest(iteration.device_seconds);
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      paths_[lane]->verify(lanes_.device(lane), lanes_.stream(lane),
                           fmt::format("pinned memory near device {}", lanes_.device(lane).facts().index));
  }
  void spoil() { paths_[0]->spoil(lanes_.device(0), lanes_.stream(0)); }
  std::size_t bytes() const { return sources_[0]->bytes(); }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }

 private:
  Lanes lanes_;
  std::vector<std::shared_ptr<const CopySources>> sources_;  // of each lane
  std::vector<std::optional<CopyPath>> paths_;               // of each lane, newly allocated in every iteration
};

Prepared prepare(Setting& setting) {
  const auto run = std::make_shared<AllocationRun>(setting);
  Prepared prepared;
  prepared.work = static_cast<double>(run->bytes());
  prepared.run = [run] { return run->iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = {{"bytes", run->bytes()}, {"clock", "host"}, {"memory", "pinned"}};
  return prepared;
}

const bool declared = add({.id = "host_link.pinned_allocation",
                           .metric = "host_link.pinned_allocation.gbps",
                           .unit = "GB/s",
                           .method = "host_link.pinned_allocation/1",
                           .summary = "Rate at which pinned host memory is allocated, by the host's clock.",
                           .priority = 3,
                           .quick = false,
                           .setup_seconds = 2,
                           .cases =
                               [](kernels::Platform& platform, const Options&) {
                                 require_gpu(platform, "memory is pinned for GPUs; the CPU needs no such thing");
                                 return std::vector<Case>{Case{}};
                               },
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

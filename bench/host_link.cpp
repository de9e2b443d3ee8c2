// Copies between pinned host memory and devices: to them, from them, both at once; all devices at once and each alone;
// by the copy engine and by a kernel.
#include <fmt/format.h>

#include <algorithm>

#include "bench/copy_path.h"
#include "bench/lanes.h"

namespace claimcheck::bench {
namespace {

using kernels::CopyEngine;
using kernels::Placement;

constexpr const char* no_link = "the CPU's memory is the host's own: there is no link between them";

enum class Direction { to_device, from_device, both };

struct Plan {
  Direction direction = Direction::to_device;
  bool at_once = true;
  CopyEngine engine = CopyEngine::copy_engine;
};

// A lane for each direction of each device.
class HostLinkRun {
 public:
  HostLinkRun(Setting& setting, const Plan& plan)
      : plan_(plan),
        devices_(setting.platform.devices().begin(), setting.platform.devices().end()),
        lanes_(setting.platform, lane_devices(), kernels::Duration(setting.options.deadline_seconds)) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      kernels::Device& device = lanes_.device(lane);
      const std::size_t limit = memory_limit(device, 1, setting.options.max_bytes) / 6;
      bytes_ = std::max<std::size_t>(4096, std::min<std::size_t>(std::size_t{64} << 20, limit) / 4096 * 4096);
      const bool to_device = is_to_device(lane);
      const auto sources = std::make_shared<const CopySources>(device, lanes_.stream(lane),
                                                               to_device ? Placement::pinned_host : Placement::device,
                                                               bytes_, setting.options.seed + 10 * lane);
      paths_.emplace_back(device, lanes_.stream(lane), to_device ? Placement::device : Placement::pinned_host, sources);
    }
    lanes_.wait();
    passes_ = find_passes(
        [&](int passes) {
          passes_ = passes;
          return iterate().seconds;
        },
        wanted_seconds(setting.options));
  }

  Iteration iterate() {
    Iteration iteration;
    if (plan_.at_once) {
      std::vector<std::size_t> all(lanes_.size());
      for (std::size_t lane = 0; lane < all.size(); ++lane) all[lane] = lane;
      run(all, iteration);
    } else {
      for (std::size_t device = 0; device < devices_.size(); ++device) {
        std::vector<std::size_t> own;
        for (std::size_t i = 0; i < lanes_a_device(); ++i) own.push_back(device * lanes_a_device() + i);
        run(own, iteration);
      }
    }
    iteration.seconds = slowest(iteration.device_seconds);
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      paths_[lane].verify(
          lanes_.device(lane), lanes_.stream(lane),
          fmt::format("copy {} device {}", is_to_device(lane) ? "to" : "from", lanes_.device(lane).facts().index));
  }
  void spoil() { paths_.back().spoil(lanes_.device(lanes_.size() - 1), lanes_.stream(lanes_.size() - 1)); }

  // Of one device: both directions where there are two.
  double work() const { return static_cast<double>(passes_) * static_cast<double>(bytes_ * lanes_a_device()); }
  double sum_gbps(const Iteration& iteration) const {
    double sum = 0;
    for (const double seconds : iteration.device_seconds) sum += work() / seconds / 1e9;
    return sum;
  }
  const std::vector<kernels::Device*>& devices() const { return devices_; }

  nlohmann::json conditions() const {
    nlohmann::json result = {{"bytes", bytes_},
                             {"passes", passes_},
                             {"memory", "pinned"},
                             {"data_pattern", "normal"},
                             {"engine", plan_.engine == CopyEngine::copy_engine ? "ce" : "sm"},
                             {"count", devices_.size()},
                             {"devices_at_once", 1}};
    if (plan_.at_once) {
      result["devices_at_once"] = "all";
      result["statistic"] = "per GPU";
    }
    return result;
  }

 private:
  std::size_t lanes_a_device() const { return plan_.direction == Direction::both ? 2 : 1; }
  bool is_to_device(std::size_t lane) const {
    return plan_.direction == Direction::to_device || (plan_.direction == Direction::both && lane % 2 == 0);
  }
  std::vector<kernels::Device*> lane_devices() const {
    std::vector<kernels::Device*> result;
    for (kernels::Device* device : devices_) result.insert(result.end(), lanes_a_device(), device);
    return result;
  }

  void run(std::span<const std::size_t> chosen, Iteration& iteration) {
    const std::vector<double> seconds = lanes_.run(
        [this](std::size_t lane, kernels::Stream& stream) {
          paths_[lane].enqueue(lanes_.device(lane), stream, plan_.engine, passes_);
        },
        chosen);
    for (std::size_t i = 0; i < seconds.size(); i += lanes_a_device())
      iteration.device_seconds.push_back(slowest(std::span(seconds).subspan(i, lanes_a_device())));
    iteration.busy_seconds += slowest(seconds);
    iteration.host_seconds += lanes_.host_seconds();
  }

  Plan plan_;
  std::vector<kernels::Device*> devices_;
  Lanes lanes_;
  std::vector<CopyPath> paths_;  // of each lane
  std::size_t bytes_ = 0;        // of one copy
  int passes_ = 1;
};

std::vector<Case> cases(kernels::Platform& platform, const Options&) {
  require_gpu(platform, no_link);
  const auto count = static_cast<double>(platform.devices().size());
  // One device after the other takes as many times as long; what all do at once shows what they share.
  std::vector<Case> result;
  for (const bool kernel : {false, true})
    for (const bool at_once : {true, false})
      result.push_back({.label = fmt::format("{}{}", at_once ? "all" : "each", kernel ? "/kernel" : ""),
                        .value = at_once ? 1 : 0,
                        .variant = kernel ? "kernel" : "",
                        .quick = !kernel && (at_once == (count > 1)),
                        .setup_seconds = 0.5 + 0.15 * count});
  return result;
}

Prepared prepare(Setting& setting, Direction direction, const std::string& sum) {
  const Plan plan{direction, setting.chosen.value == 1,
                  setting.chosen.variant == "kernel" ? CopyEngine::kernel : CopyEngine::copy_engine};
  const auto run = std::make_shared<HostLinkRun>(setting, plan);
  Prepared prepared;
  prepared.work = run->work();
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.run = [run, sum] {
    Iteration iteration = run->iterate();
    iteration.also = {{sum, run->sum_gbps(iteration)}};
    return iteration;
  };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.also_conditions[sum] = {{"statistic", plan.at_once ? "sum over GPUs at once" : "sum over GPUs"}};
  return prepared;
}

bool declare(Direction direction, const std::string& name, const char* what) {
  const std::string id = "host_link." + name;
  const std::string sum = id + ".sum.gbps";
  return add({.id = id,
              .metric = id + ".gbps",
              .unit = "GB/s",
              .method = id + "/1",
              .summary = fmt::format("Copies {} with pinned host memory.", what),
              .setup_seconds = 1,
              .also = {{sum, "GB/s"}},
              .cases = cases,
              .prepare = [direction, sum](Setting& setting) { return prepare(setting, direction, sum); }});
}

const bool declared = declare(Direction::to_device, "h2d", "from host to device") &&
                      declare(Direction::from_device, "d2h", "from device to host") &&
                      declare(Direction::both, "bidirectional", "in both directions at once");

}  // namespace
}  // namespace claimcheck::bench

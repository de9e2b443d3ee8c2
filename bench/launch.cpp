// Launch latency: empty kernels one after the other, as fast as the host can launch them.
#include <random>

#include "bench/lanes.h"
#include "bench/reference.h"

namespace claimcheck::bench {
namespace {

using kernels::Slice;

// An empty kernel leaves nothing to look at. After the launches the same stream copies random bytes, others every time:
// that they arrive proves that the stream was gone through and still works.
class LaunchRun {
 public:
  explicit LaunchRun(Setting& setting)
      : lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)),
        random_(setting.options.seed) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      kernels::Device& device = lanes_.device(lane);
      markers_.push_back({device.allocate(mark_bytes), device.allocate(mark_bytes), {}});
    }
    launches_ = find_passes(
        [&](int launches) {
          launches_ = launches;
          return iterate().seconds;
        },
        wanted_seconds(setting.options));
  }

  // One device after the other: launches come from one thread, and only its own count.
  Iteration iterate() {
    Iteration iteration;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      Marker& marker = markers_[lane];
      marker.bytes.resize(mark_bytes);
      for (std::byte& byte : marker.bytes) byte = static_cast<std::byte>(random_());
      lanes_.device(lane).upload(lanes_.stream(lane), *marker.source, marker.bytes);
      iteration.device_seconds.push_back(lanes_.run_freely(
          [&](std::size_t, kernels::Stream& stream) {
            for (int launch = 0; launch < launches_; ++launch) lanes_.device(lane).launch_empty(stream);
          },
          lane));
      iteration.busy_seconds += iteration.device_seconds.back();
      iteration.host_seconds += lanes_.host_seconds();
      lanes_.device(lane).copy(lanes_.stream(lane), *marker.target, *marker.source, kernels::CopyEngine::copy_engine);
    }
    lanes_.wait();
    iteration.seconds = slowest(iteration.device_seconds);
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      std::vector<std::byte> found(mark_bytes);
      lanes_.device(lane).download(lanes_.stream(lane), found, *markers_[lane].target);
      if (found != markers_[lane].bytes)
        throw kernels::wrong_result("the bytes copied after the launches did not arrive as they were sent");
    }
  }

  void spoil() { flip_bit(lanes_.device(0), lanes_.stream(0), *markers_[0].target, mark_bytes / 2, 3); }

  int launches() const { return launches_; }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }

 private:
  static constexpr std::size_t mark_bytes = 4096;

  struct Marker {
    std::unique_ptr<kernels::Buffer> source;
    std::unique_ptr<kernels::Buffer> target;
    std::vector<std::byte> bytes;
  };

  Lanes lanes_;
  std::mt19937_64 random_;
  std::vector<Marker> markers_;  // of each lane
  int launches_ = 1;
};

Prepared prepare(Setting& setting) {
  const auto run = std::make_shared<LaunchRun>(setting);
  Prepared prepared;
  prepared.work = run->launches();
  prepared.run = [run] { return run->iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = {{"launches", run->launches()}};
  return prepared;
}

const bool declared = add({.id = "launch.latency",
                           .metric = "launch.latency.us",
                           .unit = "us",
                           .method = "launch.latency/1",
                           .summary = "Time from one empty kernel to the next on one stream.",
                           .rate = Rate::seconds,
                           .setup_seconds = 0.5,
                           .cases =
                               [](kernels::Platform& platform, const Options&) {
                                 require_gpu(platform, "kernels are launched on GPUs only");
                                 return std::vector<Case>{Case{}};
                               },
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

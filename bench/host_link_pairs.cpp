// Every two GPUs copy from the host at once, and each alone: which of them share an uplink.
#include <algorithm>
#include <array>

#include "bench/copy_path.h"
#include "bench/lanes.h"

namespace claimcheck::bench {
namespace {

using kernels::CopyEngine;
using kernels::Placement;

class PairsRun {
 public:
  explicit PairsRun(Setting& setting)
      : lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      kernels::Device& device = lanes_.device(lane);
      const std::size_t limit = memory_limit(device, 1, setting.options.max_bytes) / 6;
      bytes_ = std::max<std::size_t>(4096, std::min<std::size_t>(std::size_t{64} << 20, limit) / 4096 * 4096);
      const auto sources = std::make_shared<const CopySources>(device, lanes_.stream(lane), Placement::pinned_host,
                                                               bytes_, setting.options.seed + 10 * lane);
      paths_.emplace_back(device, lanes_.stream(lane), Placement::device, sources);
    }
    lanes_.wait();
    passes_ = find_passes(
        [&](int passes) {
          passes_ = passes;
          const std::size_t first = 0;
          return slowest(copy(std::span(&first, 1)));
        },
        wanted_seconds(setting.options));
    alone_.resize(lanes_.size());
    pairs_.assign(lanes_.size(), std::vector<double>(lanes_.size()));
  }

  // `seconds` are those of the slowest of all pairs.
  Iteration iterate() {
    Iteration iteration;
    const auto run = [&](std::span<const std::size_t> chosen) {
      const double seconds = slowest(copy(chosen));
      iteration.busy_seconds += seconds;
      iteration.host_seconds += lanes_.host_seconds();
      return seconds;
    };
    for (std::size_t i = 0; i < lanes_.size(); ++i) alone_[i] = gbps(run(std::span(&i, 1)));
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      for (std::size_t j = i + 1; j < lanes_.size(); ++j) {
        const std::array<std::size_t, 2> both = {i, j};
        const double seconds = run(both);
        pairs_[i][j] = pairs_[j][i] = gbps(seconds);
        iteration.seconds = std::max(iteration.seconds, seconds);
      }
    return iteration;
  }

  void verify() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      paths_[lane].verify(lanes_.device(lane), lanes_.stream(lane), "copy to a device");
  }
  void spoil() { paths_.back().spoil(lanes_.device(lanes_.size() - 1), lanes_.stream(lanes_.size() - 1)); }

  double work() const { return static_cast<double>(passes_) * static_cast<double>(bytes_); }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  nlohmann::json conditions() const {
    return {{"bytes", bytes_}, {"passes", passes_},      {"memory", "pinned"},  {"data_pattern", "normal"},
            {"engine", "ce"},  {"count", lanes_.size()}, {"devices_at_once", 2}};
  }
  nlohmann::json evidence() const {
    nlohmann::json pairs = nlohmann::json::array();
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      nlohmann::json row = pairs_[i];
      row[i] = nullptr;
      pairs.push_back(std::move(row));
    }
    return {{"alone_gbps", alone_}, {"pairs_at_once_gbps", pairs}};
  }

 private:
  std::vector<double> copy(std::span<const std::size_t> chosen) {
    return lanes_.run(
        [this](std::size_t lane, kernels::Stream& stream) {
          paths_[lane].enqueue(lanes_.device(lane), stream, CopyEngine::copy_engine, passes_);
        },
        chosen);
  }
  double gbps(double seconds) const { return work() / seconds / 1e9; }

  Lanes lanes_;
  std::vector<CopyPath> paths_;
  std::size_t bytes_ = 0;
  int passes_ = 1;
  std::vector<double> alone_;               // of the last iteration
  std::vector<std::vector<double>> pairs_;  // of each of the two
};

std::vector<Case> cases(kernels::Platform& platform, const Options&) {
  require_gpu(platform, "the CPU's memory is the host's own: there is no link between them");
  const auto count = static_cast<double>(platform.devices().size());
  if (count < 2) throw kernels::unsupported("there is one GPU only: nobody shares its link to the host");
  return {
      {.label = "", .setup_seconds = 0.5 + 0.1 * count, .iteration_seconds = 2e-3 * (count + count * (count - 1) / 2)}};
}

Prepared prepare(Setting& setting) {
  const auto run = std::make_shared<PairsRun>(setting);
  Prepared prepared;
  prepared.work = run->work();
  prepared.run = [run] { return run->iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

const bool declared = add({.id = "host_link.pairs",
                           .metric = "host_link.pairs.gbps",
                           .unit = "GB/s",
                           .method = "host_link.pairs/1",
                           .summary = "Copies from host to every two devices at once: which share an uplink.",
                           .priority = 3,
                           .cases = cases,
                           .prepare = prepare});

}  // namespace
}  // namespace claimcheck::bench

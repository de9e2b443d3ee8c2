// Copies between the memories of every two devices: read, written, both directions at once; large and small.
#include <fmt/format.h>

#include <algorithm>

#include "bench/copy_path.h"
#include "bench/pair_run.h"

namespace claimcheck::bench {
namespace {

using kernels::Placement;

// `both`: each of the two reads from the other at the same time.
enum class Mode { read, write, both };

// Copies of one size between all pairs. Each device has its sources, each ordered pair a target of its own, so that
// every copy can be checked.
class PeerCopies {
 public:
  PeerCopies(Setting& setting, Mode mode, std::size_t wanted_bytes)
      : mode_(mode),
        lanes_(setting.platform, setting.platform.devices(), kernels::Duration(setting.options.deadline_seconds)),
        bytes_(bytes_for(setting, wanted_bytes)) {
    const std::size_t count = lanes_.size();
    for (std::size_t lane = 0; lane < count; ++lane)
      sources_.push_back(std::make_shared<const CopySources>(
          lanes_.device(lane), lanes_.stream(lane), Placement::device, bytes_, setting.options.seed + 10 * lane));
    for (std::size_t from = 0; from < count; ++from)
      for (std::size_t to = 0; to < count; ++to) {
        if (from == to)
          paths_.emplace_back(nullptr, sources_[from]);
        else
          paths_.emplace_back(lanes_.device(to), lanes_.stream(to), Placement::device, sources_[from]);
      }
    lanes_.wait();
    const bool both = mode == Mode::both;
    pairs_ = std::make_unique<PairRun>(setting, lanes_, both ? unordered_pairs(count) : ordered_pairs(count), both,
                                       [this](const Pair& pair, int passes) { return copy(pair, passes); });
  }

  PairRun& pairs() { return *pairs_; }

  void verify() {
    for (std::size_t from = 0; from < lanes_.size(); ++from)
      for (std::size_t to = 0; to < lanes_.size(); ++to)
        if (from != to)
          path(from, to).verify(lanes_.device(to), lanes_.stream(to),
                                fmt::format("copy from device {} to device {}", from, to));
  }
  void spoil() { path(0, 1).spoil(lanes_.device(1), lanes_.stream(1)); }

  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_for(Setting& setting, std::size_t wanted) {
    std::size_t limit = memory_limit(lanes_.device(0), 1, setting.options.max_bytes);
    for (const kernels::Device* device : lanes_.devices())
      limit = std::min(limit, memory_limit(*device, 1, setting.options.max_bytes));
    const std::size_t fitting = limit / (lanes_.size() + 2);  // sources, targets, and one while they are made
    return std::max<std::size_t>(512, std::min(wanted, fitting) / 512 * 512);
  }

  CopyPath& path(std::size_t from, std::size_t to) { return paths_[from * lanes_.size() + to]; }

  double copy(const Pair& pair, int passes) {
    std::vector<std::size_t> chosen = {pair.first};
    if (mode_ == Mode::both) chosen.push_back(pair.second);
    return slowest(lanes_.run(
        [&](std::size_t lane, kernels::Stream& stream) {
          const std::size_t other = lane == pair.first ? pair.second : pair.first;
          CopyPath& used = mode_ == Mode::write ? path(lane, other) : path(other, lane);
          used.enqueue(lanes_.device(lane), stream, kernels::CopyEngine::copy_engine, passes);
        },
        chosen));
  }

  Mode mode_;
  Lanes lanes_;
  std::size_t bytes_;
  std::vector<std::shared_ptr<const CopySources>> sources_;  // of each device
  std::vector<CopyPath> paths_;                              // from x to, row by row; the diagonal is unused
  std::unique_ptr<PairRun> pairs_;
};

Prepared prepared_from(Setting& setting, const std::shared_ptr<PeerCopies>& run, const std::string& matrix,
                       const std::function<double(double seconds)>& value) {
  Prepared prepared;
  prepared.run = [run] { return run->pairs().iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = link_conditions(setting.platform, run->pairs().pairs());
  prepared.conditions.update(nlohmann::json{{"bytes", run->bytes()},
                                            {"engine", "ce"},
                                            {"data_pattern", "normal"},
                                            {"statistic", "each pair"},
                                            {"count", run->devices().size()}});
  prepared.evidence = [run, matrix, value, access = access_matrix(setting.platform)] {
    return nlohmann::json{{matrix, run->pairs().matrix(value)}, {"access", access}};
  };
  return prepared;
}

Prepared prepare_bandwidth(Setting& setting, Mode mode, const std::string& sum) {
  constexpr std::size_t large = std::size_t{128} << 20;
  const auto run = std::make_shared<PeerCopies>(setting, mode, large);
  const double bytes = static_cast<double>(run->bytes()) * (mode == Mode::both ? 2 : 1);
  Prepared prepared =
      prepared_from(setting, run, "matrix_gbps", [bytes](double seconds) { return bytes / seconds / 1e9; });
  prepared.work = bytes;
  if (mode == Mode::both) prepared.conditions["statistic"] = "sum of both directions";
  if (sum.empty()) return prepared;
  // Over ordered pairs, as nvbandwidth sums its matrix: a pair that is measured once for both counts twice.
  const double times = mode == Mode::both ? 2 : 1;
  prepared.run = [run, sum, bytes, times] {
    Iteration iteration = run->pairs().iterate();
    double total = 0;
    for (const double seconds : run->pairs().last()) total += times * bytes / seconds / 1e9;
    iteration.also = {{sum, total}};
    return iteration;
  };
  prepared.also_conditions[sum] = {{"statistic", "sum over ordered pairs"}};
  return prepared;
}

Prepared prepare_latency(Setting& setting) {
  const auto run = std::make_shared<PeerCopies>(setting, Mode::read, 512);
  Prepared prepared = prepared_from(setting, run, "matrix_us", [](double seconds) { return seconds * 1e6; });
  prepared.work = 1;
  return prepared;
}

std::vector<Case> cases(kernels::Platform& platform, const Options&) {
  require_pair(platform);
  const auto count = static_cast<double>(platform.devices().size());
  // Every byte of every pair is compared before and after.
  return {{.label = "", .setup_seconds = 0.5 + 0.08 * count * count}};
}

bool declare(Mode mode, const std::string& name, const std::string& sum, const char* what) {
  const std::string id = "p2p." + name;
  Benchmark benchmark{.id = id,
                      .metric = id + ".gbps",
                      .unit = "GB/s",
                      .method = id + "/1",
                      .summary = fmt::format("Copies between every two devices, {}; the slowest pair.", what),
                      .setup_seconds = 2,
                      .cases = cases,
                      .prepare = [mode, sum](Setting& setting) { return prepare_bandwidth(setting, mode, sum); }};
  if (!sum.empty()) benchmark.also = {{sum, "GB/s"}};
  return add(std::move(benchmark));
}

const bool declared =
    declare(Mode::read, "read", "p2p.read.sum.gbps", "by the reader") &&
    declare(Mode::write, "write", "", "by the writer") &&
    declare(Mode::both, "bidirectional", "p2p.bidirectional_read.sum.gbps", "in both directions at once") &&
    add({.id = "p2p.latency",
         .metric = "p2p.latency.us",
         .unit = "us",
         .method = "p2p.latency/1",
         .summary = "Time of a copy of 512 bytes between every two devices; the slowest pair.",
         .rate = Rate::seconds,
         .setup_seconds = 1,
         .cases = cases,
         .prepare = prepare_latency});

}  // namespace
}  // namespace claimcheck::bench

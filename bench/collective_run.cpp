#include "bench/collective_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/facts_json.h"
#include "bench/reference.h"

namespace claimcheck::bench {

using kernels::Collective;
using kernels::Slice;

namespace {

std::shared_ptr<kernels::Group> connected(Setting& setting, std::span<kernels::Device* const> devices,
                                          std::shared_ptr<kernels::Group>& group) {
  if (!group) group = setting.platform.make_group(devices, setting.world);
  return group;
}

}  // namespace

CollectiveRun::CollectiveRun(Setting& setting, Collective collective, std::size_t size_bytes, bool in_place)
    : CollectiveRun(setting, collective, size_bytes, in_place, setting.platform.ranks(), setting.group) {}

CollectiveRun::CollectiveRun(Setting& setting, Collective collective, std::size_t size_bytes, bool in_place,
                             std::span<kernels::Device* const> devices, std::shared_ptr<kernels::Group>& group)
    : collective_(collective),
      in_place_(in_place),
      deadline_(setting.options.deadline_seconds),
      lanes_(setting.platform, devices, deadline_),
      kept_group_(group),
      group_(connected(setting, devices, group)),
      ranks_(static_cast<std::size_t>(group_->size())),
      extent_(collective, size_bytes, ranks_),
      inputs_(setting.options.seed) {
  if (ranks_ < 2) throw kernels::unsupported("there is one rank only, nobody to exchange with");
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) allocate(lane);
  lanes_.wait();
  // In place every pass multiplies the values by the number of ranks; they must stay within fp32.
  const int growing = static_cast<int>(30 / std::log10(static_cast<double>(ranks_)));
  passes_ = find_passes(
      [&](int passes) {
        passes_ = passes;
        return setting.world.max(iterate().seconds);
      },
      wanted_seconds(setting.options), in_place_ ? std::min(growing, most_passes) : most_passes);
}

void CollectiveRun::allocate(std::size_t lane) {
  kernels::Device& device = lanes_.device(lane);
  kernels::Stream& stream = lanes_.stream(lane);
  sent_.push_back(device.allocate(extent_.send * element_bytes));
  received_.push_back(device.allocate(extent_.receive * element_bytes));
  inputs_.fill(device, stream, *sent_[lane], rank_of(lane), extent_.send);
  device.fill(stream, *received_[lane], collective_type, kernels::Pattern::zeros, 0);
  buffers_.push_back({in_place_ ? Slice(*received_[lane]) : Slice(*sent_[lane]), *received_[lane]});
}

Iteration CollectiveRun::iterate() {
  Iteration iteration;  // all ranks take part in one thing: no value of each device
  iteration.idle = lanes_.size() == 0;
  if (iteration.idle) return iteration;
  try {
    if (in_place_) {
      iteration.busy_seconds = slowest(lanes_.run([this](std::size_t lane, kernels::Stream& stream) {
        lanes_.device(lane).copy(stream, *received_[lane], *sent_[lane], kernels::CopyEngine::copy_engine);
      }));
      iteration.host_seconds = lanes_.host_seconds();
    }
    iteration.seconds = slowest(lanes_.run_together(
        [this] {
          for (int pass = 0; pass < passes_; ++pass)
            group_->enqueue(collective_, buffers_, extent_.count, collective_type, lanes_.streams());
        },
        [this] { group_->wait(lanes_.streams(), deadline_); }));
  } catch (...) {
    kept_group_.reset();
    throw;
  }
  iteration.busy_seconds += iteration.seconds;
  iteration.host_seconds += lanes_.host_seconds();
  return iteration;
}

std::vector<std::size_t> CollectiveRun::checked_pieces(std::size_t length, std::size_t stretch_count) const {
  const std::size_t most = std::max<std::size_t>(4, 64 / stretch_count);
  const std::size_t pieces = (length + Inputs::piece - 1) / Inputs::piece;
  const std::size_t step = (pieces + most - 1) / most;
  std::vector<std::size_t> firsts;
  for (std::size_t number = 0; number < pieces; number += step) firsts.push_back(number * Inputs::piece);
  if (firsts.back() != (pieces - 1) * Inputs::piece) firsts.push_back((pieces - 1) * Inputs::piece);
  return firsts;
}

void CollectiveRun::verify() {
  std::vector<std::vector<Stretch>> of_lanes;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    of_lanes.push_back(stretches(collective_, rank_of(lane), ranks_, extent_.count));
  if (of_lanes.empty()) return;
  // Lane after lane within a piece: they want the same inputs, which are kept for a while.
  for (std::size_t number = 0; number < of_lanes[0].size(); ++number)
    for (const std::size_t done : checked_pieces(of_lanes[0][number].length, of_lanes[0].size()))
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const Stretch& stretch = of_lanes[lane][number];
        verify(lane, stretch, done, std::min(Inputs::piece, stretch.length - done));
      }
}

void CollectiveRun::verify(std::size_t lane, const Stretch& stretch, std::size_t done, std::size_t length) {
  std::vector<double> expected(length, 0.0);
  for (const auto& [source, first] : stretch.sources) {
    const std::vector<double> input =
        inputs_.read(lanes_.device(0), lanes_.stream(0), source, first + done, length, extent_.send);
    for (std::size_t i = 0; i < length; ++i) expected[i] += input[i];
  }
  // Only sums grow from pass to pass; what is merely passed on stays as it is.
  const bool summed = stretch.sources.size() > 1;
  const auto n = static_cast<double>(ranks_);
  const double growth = in_place_ && summed ? std::pow(n, passes_ - 1) : 1;
  for (double& value : expected) value *= growth;
  // A sum of n values below 8 (normal: beyond 8 only once in 10^15), rounded at most n times in each pass.
  const double tolerance = summed ? 8 * n * n * growth * passes_ * kernels::unit_roundoff(collective_type) : 0;
  const std::vector<double> actual = download_values(lanes_.device(lane), lanes_.stream(lane), *received_[lane],
                                                     collective_type, stretch.first + done, length);
  check_close(
      actual, expected, tolerance,
      fmt::format("{} on rank {} from element {}", to_string(collective_), rank_of(lane), stretch.first + done));
}

void CollectiveRun::spoil() {
  if (lanes_.size() == 0) return;
  const std::size_t lane = lanes_.size() - 1;
  flip_bit(lanes_.device(lane), lanes_.stream(lane), *received_[lane], (extent_.receive - 1) * element_bytes + 3, 4);
}

nlohmann::json CollectiveRun::evidence() const { return {{"group", to_json(group_->facts())}}; }

nlohmann::json CollectiveRun::conditions() const {
  const std::vector<Stretch> parts = stretches(collective_, rank_of(0), ranks_, extent_.count);
  double checked = 0;
  double all = 0;
  for (const Stretch& stretch : parts) {
    for (const std::size_t done : checked_pieces(stretch.length, parts.size()))
      checked += static_cast<double>(std::min(Inputs::piece, stretch.length - done));
    all += static_cast<double>(stretch.length);
  }
  return {{"data_type", to_string(collective_type)},
          {"data_pattern", "normal"},
          {"bytes", extent_.size_bytes()},
          {"ranks", ranks_},
          {"in_place", in_place_},
          {"checked_share", checked / all},
          {"passes", passes_}};
}

}  // namespace claimcheck::bench

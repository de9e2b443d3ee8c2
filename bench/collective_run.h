// One collective of one size between all ranks: its buffers, its iterations, and the check of its results.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "bench/benchmark.h"
#include "bench/collective_data.h"
#include "bench/lanes.h"

namespace claimcheck::bench {

class CollectiveRun {
 public:
  // Between all ranks. Throws unsupported where there is one rank only.
  CollectiveRun(Setting& setting, kernels::Collective collective, std::size_t size_bytes, bool in_place);
  // Between some of all processes: `devices` of this one, maybe none. `group` is of them, made where it is null, and
  // outlives this.
  CollectiveRun(Setting& setting, kernels::Collective collective, std::size_t size_bytes, bool in_place,
                std::span<kernels::Device* const> devices, std::shared_ptr<kernels::Group>& group);

  Iteration iterate();

  // Each result against one computed from the seeds of the inputs: all of up to 16 MiB a rank, of more every second,
  // third, ... piece and the last, since the host makes the reference.
  void verify();
  void spoil();

  double bytes_moved() const { return passes_ * extent_.size_bytes(); }
  double bus_bytes() const { return bytes_moved() * bus_factor(collective_, static_cast<double>(ranks_)); }
  int passes() const { return passes_; }
  std::vector<kernels::Device*> devices() const { return lanes_.devices(); }
  nlohmann::json evidence() const;
  nlohmann::json conditions() const;

 private:
  void allocate(std::size_t lane);
  std::size_t rank_of(std::size_t lane) const { return static_cast<std::size_t>(group_->first_rank()) + lane; }
  // First elements of the pieces of a stretch that are checked; the last one may be shorter than Inputs::piece.
  std::vector<std::size_t> checked_pieces(std::size_t length, std::size_t stretch_count) const;
  void verify(std::size_t lane, const Stretch& stretch, std::size_t done, std::size_t length);

  kernels::Collective collective_;
  bool in_place_;
  kernels::Duration deadline_;
  Lanes lanes_;
  std::shared_ptr<kernels::Group>& kept_group_;  // dropped when it has failed
  std::shared_ptr<kernels::Group> group_;
  std::size_t ranks_;
  Extent extent_;
  Inputs inputs_;
  std::vector<std::unique_ptr<kernels::Buffer>> sent_;      // of each lane; in place: the values to start from
  std::vector<std::unique_ptr<kernels::Buffer>> received_;  // of each lane
  std::vector<kernels::Group::Buffers> buffers_;            // of each lane
  int passes_ = 1;
};

}  // namespace claimcheck::bench

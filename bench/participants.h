// The first N ranks of all processes: what scales is measured on them while the other ranks wait.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "bench/benchmark.h"

namespace claimcheck::bench {

struct Participants {
  std::size_t ranks = 0;                   // of all processes
  std::size_t first = 0;                   // number of this process's first, among all ranks
  std::span<kernels::Device* const> here;  // of this process
  int processes = 1;                       // that have one of them
  int nodes = 1;
  bool alone = true;  // this process is the only one of the run

  bool idle() const { return here.empty(); }
  void describe(nlohmann::json& conditions) const;  // ranks; in a run of several processes also processes, nodes
};

// Called by all processes at once.
Participants first_ranks(Setting& setting, std::size_t count);

// Numbers of ranks worth comparing: from `least` on powers of two, the ranks of 1, 2, 4, ... whole nodes, and all.
std::vector<std::int64_t> rank_counts(kernels::Platform& platform, const Options& options, std::int64_t least = 1);

// {"slowest_rank": {"rank", "name", "times_fastest", and of several processes "process", "node"}}, from what each rank
// of this process took in all. Called by all processes at once.
nlohmann::json slowest_rank(kernels::World& world, const Participants& participants, std::span<const double> seconds);

}  // namespace claimcheck::bench

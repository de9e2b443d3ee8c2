// Every pair of devices, one pair after the other: seconds per operation of each, as a matrix, and what is common to
// the benchmarks of pairs.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bench/lanes.h"

namespace claimcheck::bench {

// `first` is the device whose stream does the work: the reader, the writer, the one that follows the chain.
struct Pair {
  std::size_t first = 0;
  std::size_t second = 0;
};

// All ordered pairs of `count` devices, or each two once.
std::vector<Pair> ordered_pairs(std::size_t count);
std::vector<Pair> unordered_pairs(std::size_t count);

class PairRun {
 public:
  // Runs a pair's operation so many times and returns the device's seconds for all of them.
  using Run = std::function<double(const Pair& pair, int passes)>;

  // Finds how many passes each pair needs. `mirrored`: a pair's figure is also that of its reverse.
  PairRun(Setting& setting, Lanes& lanes, std::vector<Pair> pairs, bool mirrored, Run run);

  // `seconds` is that of one operation of the slowest pair.
  Iteration iterate();

  const std::vector<Pair>& pairs() const { return pairs_; }
  const std::vector<double>& last() const {
    return last_;
  }  // seconds per operation in the last iteration, of each pair

  // Of each pair the median of value(seconds per operation) over the iterations; null on the diagonal and where no pair
  // was measured.
  nlohmann::json matrix(const std::function<double(double seconds)>& value) const;

 private:
  Lanes& lanes_;
  std::vector<Pair> pairs_;
  bool mirrored_;
  Run run_;
  std::vector<int> passes_;                   // of each pair
  std::vector<double> last_;                  // of each pair
  std::vector<std::vector<double>> history_;  // of each pair, the latest iterations
};

// "direct", "through_host" or null on the diagonal, row by row.
nlohmann::json access_matrix(kernels::Platform& platform);

// What the links between these devices are, for conditions: {"access": "direct", "link": "nvlink"}; a key is absent
// where it is not known or not the same for all pairs.
nlohmann::json link_conditions(kernels::Platform& platform, const std::vector<Pair>& pairs);

// Throws unsupported where there are no two devices.
void require_pair(kernels::Platform& platform);

}  // namespace claimcheck::bench

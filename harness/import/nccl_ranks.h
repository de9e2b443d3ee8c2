// How many ranks bus bandwidth, time and size tell of, and how surely: figures are printed with few digits, and the
// more ranks there are the less their factors differ. Pure.
#pragma once

#include <optional>
#include <string>

namespace claimcheck::importing {

// Which factor a collective has, n ranks [nccl-tests, doc/PERFORMANCE.md]: both_ways 2 (n-1)/n (all-reduce), one_way
// (n-1)/n (all-gather, reduce-scatter, all-to-all), none 1 whatever n is.
enum class NcclFactor { both_ways, one_way, none };

struct RanksFit {
  double low = 0, high = 0;  // of what the printed digits allow; high is infinite where they allow any number
  std::optional<int> ranks;  // where it is one number only
  bool fits(int count) const;
  std::string text() const;  // "93 to 166", "at least 120"
};

// Unset for `none`, and where the factor is none of `factor` at all.
std::optional<RanksFit> fit_ranks(NcclFactor factor, double bytes, double time_us, double busbw_gbps);

}  // namespace claimcheck::importing

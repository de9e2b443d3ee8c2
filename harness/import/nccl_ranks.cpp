#include "harness/import/nccl_ranks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace claimcheck::importing {
namespace {

constexpr double most_ranks = 1e6;

// Half of the last digit that nccl-tests prints: of bandwidths always two decimals, of times the fewer the larger.
constexpr double half_digit_of_busbw = 0.005;
double half_digit_of(double time_us) {
  if (time_us >= 1e4) return 0.5;
  return time_us >= 100 ? 0.05 : 0.005;
}

double ranks_of(double factor, double per_rank) {
  return factor >= per_rank ? std::numeric_limits<double>::infinity() : per_rank / (per_rank - factor);
}

}  // namespace

bool RanksFit::fits(int count) const { return count >= std::floor(low) && count <= std::ceil(high); }

std::string RanksFit::text() const {
  const double first = std::max(2.0, std::ceil(low));
  if (high > most_ranks) return fmt::format("at least {:.0f}", first);
  return fmt::format("{:.0f} to {:.0f}", first, std::max(first, std::floor(high)));
}

std::optional<RanksFit> fit_ranks(NcclFactor factor, double bytes, double time_us, double busbw_gbps) {
  if (factor == NcclFactor::none || !(bytes > 0) || !(time_us > 0) || !(busbw_gbps > 0)) return std::nullopt;
  const double algbw = bytes / time_us / 1e3;
  const double seen = busbw_gbps / algbw;
  const double error = seen * (half_digit_of_busbw / busbw_gbps + half_digit_of(time_us) / time_us);
  const double limit = factor == NcclFactor::both_ways ? 2 : 1;
  RanksFit fit;
  fit.low = ranks_of(seen - error, limit);
  fit.high = ranks_of(seen + error, limit);
  // n ranks have factors from limit / 2 on.
  if (fit.high < 1.9 || fit.low > most_ranks) return std::nullopt;
  const double nearest = std::round(ranks_of(seen, limit));
  const bool between = std::ceil(fit.low) <= std::floor(fit.high);
  const bool one = between && std::ceil(fit.low) == std::floor(fit.high);
  // Averages of several processes are a little off: a gap between two whole numbers is no contradiction.
  if (nearest >= 2 && (one || (!between && fit.high - fit.low < 1))) fit.ranks = static_cast<int>(nearest);
  return fit;
}

}  // namespace claimcheck::importing

#include "harness/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace claimcheck {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics need at least one sample");
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

double median_of_sorted(std::span<const double> values) {
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

// P(Binomial(n, 1/2) = k), through logarithms: no overflow whatever n is.
double binomial_half(double n, double k) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::numbers::ln2);
}

// Largest j with P(Binomial(n, 1/2) < j) <= 0.025, so that [x_(j), x_(n+1-j)] covers the median with at least 95 %.
std::size_t lower_rank(std::size_t n) {
  double below = 0;
  std::size_t j = 0;
  while (j < n) {
    below += binomial_half(static_cast<double>(n), static_cast<double>(j));
    if (below > 0.025) break;
    ++j;
  }
  return j;
}

}  // namespace

double median(std::span<const double> samples) { return median_of_sorted(sorted(samples)); }

double coefficient_of_variation(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  const double count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  if (mean == 0) return 0;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / (count - 1)) / std::abs(mean);
}

std::optional<std::pair<double, double>> median_interval_95(std::span<const double> samples) {
  if (samples.empty()) return std::nullopt;
  const std::vector<double> values = sorted(samples);
  const std::size_t rank = lower_rank(values.size());
  if (rank == 0) return std::nullopt;
  return std::pair{values[rank - 1], values[values.size() - rank]};
}

Statistics summarise(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  Statistics statistics;
  statistics.median = median_of_sorted(values);
  statistics.min = values.front();
  statistics.max = values.back();
  statistics.cv = coefficient_of_variation(samples);
  statistics.ci95 = median_interval_95(samples);
  statistics.samples.assign(samples.begin(), samples.end());
  return statistics;
}

}  // namespace claimcheck

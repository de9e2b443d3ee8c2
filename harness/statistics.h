// Statistics of repeated measurements. Pure functions; values in any unit.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "harness/result/measurement.h"

namespace claimcheck {

// Median: mean of the two middle values when the count is even. Needs at least one sample.
double median(std::span<const double> samples);

// Sample standard deviation (n - 1) / mean; 0 for one sample, or when the mean is 0.
double coefficient_of_variation(std::span<const double> samples);

// Distribution-free 95 % interval of the median from order statistics: the narrowest pair (x_(j), x_(n+1-j)) with
// P(Binomial(n, 1/2) in [j, n-j]) >= 0.95 (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2).
// Below 6 samples no such pair exists: unset.
std::optional<std::pair<double, double>> median_interval_95(std::span<const double> samples);

// All of the above. Needs at least one sample, all finite.
Statistics summarise(std::span<const double> samples);

}  // namespace claimcheck

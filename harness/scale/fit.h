// A straight line through measured times: time = alpha + bytes / beta. Pure.
#pragma once

#include <optional>
#include <vector>

namespace claimcheck::scale {

struct TimedSize {
  double bytes = 0;
  double seconds = 0;
};

// alpha is what a message of no size costs, beta the rate that large ones approach (bytes a second). Residuals are
// relative: (fitted - measured) / measured.
struct AlphaBeta {
  double alpha_seconds = 0;
  double bytes_per_second = 0;
  double rms_residual = 0;
  double worst_residual = 0;  // the largest by size, with its sign
  double worst_bytes = 0;     // where that is
  int points = 0;

  double seconds(double bytes) const { return alpha_seconds + bytes / bytes_per_second; }
};

// Least squares of the relative residuals, that is weights 1 / time^2 (Hockney's model of 1994 for the line; the
// weights, because sizes span nine powers of ten and without them the largest alone would decide). alpha is never
// negative: where the best line has one below zero, the line through zero is taken. Unset for fewer than two sizes, or
// where time does not grow with size.
std::optional<AlphaBeta> fit_alpha_beta(const std::vector<TimedSize>& points);

}  // namespace claimcheck::scale

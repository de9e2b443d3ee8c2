#include "harness/scale/fit.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace claimcheck::scale {
namespace {

// Sums of the normal equations, with weights 1 / t^2: a = alpha, c = seconds a byte.
struct Sums {
  double one = 0;    // w
  double size = 0;   // w s
  double sizes = 0;  // w s^2
  double time = 0;   // w t
  double both = 0;   // w s t
};

Sums sums_of(const std::vector<TimedSize>& points) {
  Sums sums;
  for (const TimedSize& point : points) {
    const double weight = 1 / (point.seconds * point.seconds);
    sums.one += weight;
    sums.size += weight * point.bytes;
    sums.sizes += weight * point.bytes * point.bytes;
    sums.time += weight * point.seconds;
    sums.both += weight * point.bytes * point.seconds;
  }
  return sums;
}

void add_residuals(AlphaBeta& fit, const std::vector<TimedSize>& points) {
  double squares = 0;
  for (const TimedSize& point : points) {
    const double residual = fit.seconds(point.bytes) / point.seconds - 1;
    squares += residual * residual;
    if (std::abs(residual) < std::abs(fit.worst_residual)) continue;
    fit.worst_residual = residual;
    fit.worst_bytes = point.bytes;
  }
  fit.points = static_cast<int>(points.size());
  fit.rms_residual = std::sqrt(squares / static_cast<double>(points.size()));
}

}  // namespace

std::optional<AlphaBeta> fit_alpha_beta(const std::vector<TimedSize>& points) {
  std::set<double> sizes;
  for (const TimedSize& point : points) {
    if (!(point.seconds > 0) || !(point.bytes > 0)) return std::nullopt;
    sizes.insert(point.bytes);
  }
  if (sizes.size() < 2) return std::nullopt;
  const Sums sums = sums_of(points);
  const double determinant = sums.one * sums.sizes - sums.size * sums.size;
  double alpha = (sums.time * sums.sizes - sums.size * sums.both) / determinant;
  double seconds_per_byte = (sums.one * sums.both - sums.size * sums.time) / determinant;
  if (alpha < 0) {
    alpha = 0;
    seconds_per_byte = sums.both / sums.sizes;
  }
  if (!(seconds_per_byte > 0)) return std::nullopt;
  AlphaBeta fit;
  fit.alpha_seconds = alpha;
  fit.bytes_per_second = 1 / seconds_per_byte;
  add_residuals(fit, points);
  return fit;
}

}  // namespace claimcheck::scale

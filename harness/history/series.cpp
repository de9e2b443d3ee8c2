#include "harness/history/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "harness/statistics.h"

namespace claimcheck::history {
namespace {

using compare::Reading;

double two_sided(double z) { return std::erfc(std::abs(z) / std::numbers::sqrt2); }

double distances(std::span<const double> values) {
  const double middle = median(values);
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [&](double sum, double value) { return sum + std::abs(value - middle); });
}

Reading level(std::span<const double> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {median(values), median_interval_95(values).value_or(std::pair(*least, *most))};
}

struct Split {
  std::size_t at = 0;
  double cost = std::numeric_limits<double>::infinity();
};

Split best_split(std::span<const double> values) {
  Split best;
  for (std::size_t at = fewest_beside_a_step; at + fewest_beside_a_step <= values.size(); ++at) {
    const double cost = distances(values.first(at)) + distances(values.subspan(at));
    if (cost < best.cost) best = {at, cost};
  }
  return best;
}

// Indices of steps within values[first, last), appended in order.
void find_steps(std::span<const double> values, std::size_t first, std::size_t last, double min_effect,
                std::vector<std::size_t>& found) {
  const std::span<const double> part = values.subspan(first, last - first);
  if (part.size() < fewest_points) return;
  const Split split = best_split(part);
  const std::vector<double> before(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(split.at));
  const std::vector<double> after(part.begin() + static_cast<std::ptrdiff_t>(split.at), part.end());
  const double tries = static_cast<double>(part.size() - 2 * fewest_beside_a_step + 1);
  const double effect = std::abs(median(after) / median(before) - 1);
  if (!(effect > min_effect) || tries * mann_whitney_p(before, after) > 0.05) return;
  find_steps(values, first, first + split.at, min_effect, found);
  found.push_back(first + split.at);
  find_steps(values, first + split.at, last, min_effect, found);
}

// Slope of log(value) a day: the median of the slopes of all pairs.
double theil_sen(const std::vector<Point>& points) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double days = points[j].days - points[i].days;
      if (days > 0) slopes.push_back(std::log(points[j].reading.value / points[i].reading.value) / days);
    }
  }
  return slopes.empty() ? 0 : median(slopes);
}

double mann_kendall_p(std::span<const double> values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) sum += (values[j] > values[i]) - (values[j] < values[i]);
  }
  const double n = static_cast<double>(values.size());
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  return two_sided((std::abs(sum) - 1) / deviation);
}

double spread_of(std::span<const double> values, const std::vector<std::size_t>& steps) {
  std::vector<double> off;
  std::size_t first = 0;
  for (std::size_t part = 0; part <= steps.size(); ++part) {
    const std::size_t last = part < steps.size() ? steps[part] : values.size();
    const double middle = median(values.subspan(first, last - first));
    for (std::size_t i = first; i < last; ++i) off.push_back(std::abs(values[i] / middle - 1));
    first = last;
  }
  return 1.4826 * median(off);
}

void add_steps(std::span<const double> values, const std::vector<std::size_t>& at, Better better, Course& course) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t from = i == 0 ? 0 : at[i - 1];
    const std::size_t to = i + 1 < at.size() ? at[i + 1] : values.size();
    Step step;
    step.at = at[i];
    step.before = level(values.subspan(from, at[i] - from));
    step.after = level(values.subspan(at[i], to - at[i]));
    step.change = compare::change_between(step.before, step.after, better);
    course.steps.push_back(std::move(step));
  }
}

}  // namespace

std::string_view to_string(Trend trend) {
  switch (trend) {
    case Trend::steady:
      return "steady";
    case Trend::stepped:
      return "stepped";
    case Trend::drifting:
      return "drifting";
    default:
      return "too_few";
  }
}

double mann_whitney_p(const std::vector<double>& before, const std::vector<double>& after) {
  const double m = static_cast<double>(before.size());
  const double n = static_cast<double>(after.size());
  double wins = 0;
  for (const double a : before) {
    for (const double b : after) wins += a > b ? 1 : a == b ? 0.5 : 0;
  }
  if (wins == 0 || wins == m * n) {
    // 2 of all the ways to choose which values stand on which side.
    return 2 * std::exp(std::lgamma(m + 1) + std::lgamma(n + 1) - std::lgamma(m + n + 1));
  }
  const double deviation = std::sqrt(m * n * (m + n + 1) / 12);
  return two_sided((std::abs(wins - m * n / 2) - 0.5) / deviation);
}

Course course_of(const std::vector<Point>& points, Better better, double min_effect) {
  Course course;
  if (points.empty()) return course;
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.reading.value);
  course.first_to_last = compare::change_between(points.front().reading, points.back().reading, better);
  course.spread = spread_of(values, {});
  if (values.size() < fewest_points) return course;
  std::vector<std::size_t> steps;
  find_steps(values, 0, values.size(), min_effect, steps);
  course.trend = Trend::steady;
  if (!steps.empty()) {
    course.trend = Trend::stepped;
    course.spread = spread_of(values, steps);
    add_steps(values, steps, better, course);
    return course;
  }
  const double slope = theil_sen(points);
  const double days = points.back().days - points.front().days;
  if (std::abs(std::expm1(slope * days)) > min_effect && mann_kendall_p(values) < 0.01) {
    course.trend = Trend::drifting;
    course.drift_per_30_days = std::expm1(slope * 30);
  }
  return course;
}

}  // namespace claimcheck::history

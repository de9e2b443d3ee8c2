#include "harness/history/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "harness/statistics.h"

namespace claimcheck::history {
namespace {

using compare::Reading;

double two_sided(double z) { return std::erfc(std::abs(z) / std::numbers::sqrt2); }

Reading level(std::span<const double> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {median(values), median_interval_95(values).value_or(std::pair(*least, *most))};
}

// Sums of distances from the median, of values[first, last) for all last > first: one value more at a time.
std::vector<double> distances_from(std::span<const double> values, std::size_t first) {
  std::vector<double> sorted;
  std::vector<double> sums(values.size() + 1, 0);
  for (std::size_t last = first + 1; last <= values.size(); ++last) {
    const double value = values[last - 1];
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
    const double middle = sorted[sorted.size() / 2];
    double sum = 0;
    for (const double one : sorted) sum += std::abs(one - middle);
    sums[last] = sum;
  }
  return sums;
}

// What one step costs in the search, in the unit of the values: three times ln n of the noise from run to run.
double price_of_a_step(std::span<const double> values) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) differences.push_back(std::abs(values[i] - values[i - 1]));
  const double noise = 1.4826 * median(differences) / std::numbers::sqrt2;
  return 3 * std::log(static_cast<double>(values.size())) * noise;
}

// Where the parts begin, the first left out, that have the least sum of distances from their medians.
std::vector<std::size_t> best_parts(std::span<const double> values) {
  const std::size_t count = values.size();
  const double price = price_of_a_step(values);
  std::vector<double> least(count + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> begin(count + 1, 0);
  least[0] = -price;
  for (std::size_t first = 0; first + fewest_beside_a_step <= count; ++first) {
    if (!std::isfinite(least[first])) continue;
    const std::vector<double> sums = distances_from(values, first);
    for (std::size_t last = first + fewest_beside_a_step; last <= count; ++last) {
      const double sum = least[first] + price + sums[last];
      if (sum < least[last]) {
        least[last] = sum;
        begin[last] = first;
      }
    }
  }
  std::vector<std::size_t> steps;
  for (std::size_t last = begin[count]; last > 0; last = begin[last]) steps.push_back(last);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

// How likely a step of this kind is by chance; 1 for one that is too small to count.
double chance_of(std::span<const double> values, std::size_t first, std::size_t at, std::size_t last,
                 double min_effect) {
  const std::vector<double> before(values.begin() + static_cast<std::ptrdiff_t>(first),
                                   values.begin() + static_cast<std::ptrdiff_t>(at));
  const std::vector<double> after(values.begin() + static_cast<std::ptrdiff_t>(at),
                                  values.begin() + static_cast<std::ptrdiff_t>(last));
  if (!(std::abs(median(after) / median(before) - 1) > min_effect)) return 1;
  const double tries = static_cast<double>(values.size() - 2 * fewest_beside_a_step + 1);
  return std::min(1.0, tries * mann_whitney_p(before, after));
}

// The least certain step goes, until those left are certain enough between their neighbours.
std::vector<std::size_t> find_steps(std::span<const double> values, double min_effect) {
  std::vector<std::size_t> steps = best_parts(values);
  while (!steps.empty()) {
    std::size_t weakest = 0;
    double worst = -1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t first = i == 0 ? 0 : steps[i - 1];
      const std::size_t last = i + 1 < steps.size() ? steps[i + 1] : values.size();
      const double chance = chance_of(values, first, steps[i], last, min_effect);
      if (chance > worst) {
        worst = chance;
        weakest = i;
      }
    }
    if (worst <= 0.05) break;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  return steps;
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
  const std::vector<std::size_t> steps = find_steps(values, min_effect);
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

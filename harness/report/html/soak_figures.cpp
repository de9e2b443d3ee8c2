// A soak over time: rate, clock, power and temperature of each device.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/evidence/soak.h"
#include "harness/report/html/figure.h"

namespace claimcheck::report {
namespace {

struct Quantity {
  const char* column;
  const char* title;
  const char* unit;
};
constexpr std::array<Quantity, 6> quantities = {{{"tflops", "Matrix multiply over time", "TFLOPS"},
                                                 {"gbps", "Memory bandwidth over time", "GB/s"},
                                                 {"sm_clock_mhz", "Clock over time", "MHz"},
                                                 {"cpu_clock_mhz", "Clock over time", "MHz"},
                                                 {"power_w", "Power over time", "W"},
                                                 {"temperature_c", "Temperature over time", "C"}}};
constexpr std::size_t most_points = 240;  // that a reader can tell apart

// The least of each stretch: a short dip is what one looks for.
Column thinned(const Column& column, std::size_t points) {
  Column thin(points);
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t end = (i + 1) * column.size() / points;
    for (std::size_t j = i * column.size() / points; j < end; ++j)
      if (column[j] && (!thin[i] || *column[j] < *thin[i])) thin[i] = column[j];
  }
  return thin;
}

std::optional<Figure> figure_of(const Soak& soak, const Quantity& quantity, std::size_t number) {
  const std::size_t points = std::min(most_points, soak.seconds.size());
  Figure figure;
  figure.id = fmt::format("soak-{}-{}", number, quantity.column);
  figure.title = quantity.title;
  figure.caption = fmt::format("{}, {:.0f} s; each point is the least of its stretch.", soak.benchmark,
                               soak.seconds.empty() ? 0 : soak.seconds.back());
  figure.category = "seconds";
  figure.unit = quantity.unit;
  figure.from_zero = false;
  for (std::size_t i = 0; i < points; ++i)
    figure.labels.push_back(fmt::format("{:.0f}", soak.seconds[i * soak.seconds.size() / points]));
  for (const SoakDevice& device : soak.devices) {
    const auto found = device.columns.find(quantity.column);
    if (found == device.columns.end() || found->second.size() != soak.seconds.size()) continue;
    figure.series.push_back({fmt::format("device {}", device.index), "line", thinned(found->second, points)});
  }
  if (figure.series.empty() || points < 2) return std::nullopt;
  return figure;
}

}  // namespace

std::vector<Figure> soak_figures(const Document& document) {
  std::vector<Figure> figures;
  std::size_t number = 0;
  for (const Soak& soak : soaks_of(document)) {
    ++number;
    for (const Quantity& quantity : quantities)
      if (auto figure = figure_of(soak, quantity, number)) figures.push_back(std::move(*figure));
  }
  return figures;
}

}  // namespace claimcheck::report

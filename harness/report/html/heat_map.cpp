// Matrices of pairs: devices (links) and nodes. A cell's colour is its place between the slowest and the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "harness/judge/machine.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/figure.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

struct Kind {
  const char* key;
  const char* unit;
  const char* what;
};
constexpr std::array<Kind, 5> kinds = {{{"matrix_gbps", "GB/s", "GPU"},
                                        {"matrix_us", "us", "GPU"},
                                        {"matrix_ns", "ns", "GPU"},
                                        {"node_matrix_gbps", "GB/s", "node"},
                                        {"node_matrix_us", "us", "node"}}};
constexpr std::size_t largest = 64;

bool is_square(const json& matrix) {
  return matrix.is_array() && matrix.size() >= 2 && matrix.size() <= largest &&
         std::all_of(matrix.begin(), matrix.end(),
                     [&](const json& row) { return row.is_array() && row.size() == matrix.size(); });
}

struct Ends {
  double low = 0;
  double high = 0;
};

std::optional<Ends> ends_of(const json& matrix) {
  std::optional<Ends> ends;
  for (const json& row : matrix)
    for (const json& value : row) {
      if (!value.is_number()) continue;
      const double number = value.get<double>();
      if (!ends) ends = Ends{number, number};
      ends->low = std::min(ends->low, number);
      ends->high = std::max(ends->high, number);
    }
  return ends;
}

// 0 is the worst, 100 the best; of values that differ by less than repetitions do all are the best.
int warmth(double value, const Ends& ends, bool lower_is_better) {
  constexpr double alike = 0.03;
  if (ends.high - ends.low <= alike * ends.high) return 100;
  const double place = (value - ends.low) / (ends.high - ends.low);
  return static_cast<int>(100 * (lower_is_better ? 1 - place : place));
}

std::string map_html(const Measurement& measurement, const json& matrix, const Kind& kind, const Ends& ends) {
  const bool lower = std::string_view(kind.unit) != "GB/s";
  std::string head = element("th", fmt::format("{} at work \\ with", kind.what), "scope=\"col\"");
  for (std::size_t i = 0; i < matrix.size(); ++i) head += element("th", std::to_string(i), "scope=\"col\"");
  std::string body;
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    std::string cells = element("th", std::to_string(row), "scope=\"row\"");
    for (const json& value : matrix[row]) {
      if (!value.is_number()) {
        cells += element("td", "-");
        continue;
      }
      const double number = value.get<double>();
      cells += element(
          "td", number_text(number),
          fmt::format("class=\"heat\" style=\"--warmth:{}%\" data-value=\"{}\"", warmth(number, ends, lower), number));
    }
    body += wrapped_in("tr", cells);
  }
  const Metric* metric = find_metric(measurement.metric);
  const std::string name = metric == nullptr ? measurement.metric : metric->name;
  const std::string caption =
      element("caption", fmt::format("{} in {}: {}", name, kind.unit, range_text(ends.low, ends.high, kind.unit)));
  return wrapped_in(
      "div",
      wrapped_in("table", caption + wrapped_in("thead", wrapped_in("tr", head)) + wrapped_in("tbody", body),
                 fmt::format("class=\"heat-map\" data-metric=\"{}\"", escaped(measurement.metric))),
      "class=\"wide\"");
}

}  // namespace

std::string heat_maps_html(const Document& document) {
  std::string html;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric.find(".sum.") != std::string::npos) continue;  // shares the evidence of another
    for (const Kind& kind : kinds) {
      const auto found = measurement.evidence.find(kind.key);
      if (found == measurement.evidence.end() || !is_square(*found)) continue;
      // A rate and a latency measured together share their evidence; each shows its own matrix.
      if ((measurement.unit == "GB/s") != (std::string_view(kind.unit) == "GB/s")) continue;
      if (const auto ends = ends_of(*found)) html += map_html(measurement, *found, kind, *ends);
    }
  }
  return html;
}

}  // namespace claimcheck::report

// The matrix of pairs and the curve of the all-reduce. Both come from evidence and conditions, which are open: what has
// another shape is left out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/report/text.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<const char*, const char*>, 3> matrices = {
    {{"matrix_gbps", "GB/s"}, {"matrix_us", "us"}, {"matrix_ns", "ns"}}};
constexpr std::size_t most_devices = 16;  // that fit the screen
constexpr std::size_t least_sizes = 3;    // that make a curve

bool is_square(const json& matrix) {
  if (!matrix.is_array() || matrix.size() < 2 || matrix.size() > most_devices) return false;
  return std::all_of(matrix.begin(), matrix.end(),
                     [&](const json& row) { return row.is_array() && row.size() == matrix.size(); });
}

bool through_host(const json& access, std::size_t row, std::size_t column) {
  return is_square(access) && row < access.size() && access[row][column] == "through_host";
}

// A star where the copy goes by way of the host.
std::string cell_text(const json& value, bool by_host) {
  if (!value.is_number()) return "-";
  return number_text(value.get<double>()) + (by_host ? "*" : "");
}

// The least and the largest entry.
std::optional<std::pair<double, double>> spread(const json& matrix) {
  std::optional<std::pair<double, double>> found;
  for (const json& row : matrix)
    for (const json& value : row) {
      if (!value.is_number()) continue;
      const double number = value.get<double>();
      if (!found) found = {number, number};
      found->first = std::min(found->first, number);
      found->second = std::max(found->second, number);
    }
  return found;
}

std::string matrix_text(const Measurement& measurement, const json& matrix, const char* unit,
                        const ReportOptions& options) {
  const auto ends = spread(matrix);
  if (!ends) return {};
  const Metric* metric = find_metric(measurement.metric);
  const json access = measurement.evidence.value("access", json());
  std::vector<Table::Column> columns = {{"", true}};
  for (std::size_t column = 0; column < matrix.size(); ++column) columns.push_back({std::to_string(column), true});
  Table table(columns);
  bool stars = false;
  const double slow = metric != nullptr && metric->better == Better::lower ? ends->second : ends->first;
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    std::vector<Table::Cell> cells = {{std::to_string(row), Colour::faint}};
    for (std::size_t column = 0; column < matrix.size(); ++column) {
      const json& value = matrix[row][column];
      const bool by_host = through_host(access, row, column);
      stars = stars || (by_host && value.is_number());
      const bool slowest = value.is_number() && value.get<double>() == slow && ends->second > 1.05 * ends->first;
      cells.push_back({cell_text(value, by_host), slowest ? Colour::bad : Colour::none});
    }
    table.add(std::move(cells));
  }
  std::string out =
      fmt::format(" {}, {} ({}); row: the device at work\n", metric == nullptr ? measurement.metric : metric->name,
                  unit, range_text(ends->first, ends->second, unit));
  out += table.render(options.width, options.colour);
  if (stars) out += " * by way of the host: no direct access\n";
  return out;
}

double bytes_of(const Measurement& measurement) {
  const auto found = measurement.conditions.find("bytes");
  return found != measurement.conditions.end() && found->is_number() ? found->get<double>() : 0;
}

// Out of place, by size.
std::vector<const Measurement*> curve_of(const Document& document, std::string_view metric) {
  std::vector<const Measurement*> curve;
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != metric || !measurement.value || bytes_of(measurement) <= 0) continue;
    const auto in_place = measurement.conditions.find("in_place");
    if (in_place == measurement.conditions.end() || *in_place != true) curve.push_back(&measurement);
  }
  std::sort(curve.begin(), curve.end(),
            [](const Measurement* a, const Measurement* b) { return bytes_of(*a) < bytes_of(*b); });
  return curve;
}

std::string curve_text(const Document& document, const ReportOptions& options) {
  constexpr double longest_bar = 40;
  const std::vector<const Measurement*> curve = curve_of(document, "allreduce.busbw.gbps");
  if (curve.size() < least_sizes) return {};
  double highest = 0;
  for (const Measurement* measurement : curve) highest = std::max(highest, *measurement->value);
  Table table({{"bytes", true}, {"GB/s", true}, {"", false}});
  for (const Measurement* measurement : curve) {
    const auto length = static_cast<std::size_t>(std::lround(longest_bar * *measurement->value / highest));
    table.add(
        {{binary_bytes_text(bytes_of(*measurement))}, {number_text(*measurement->value)}, {std::string(length, '=')}});
  }
  return " all-reduce, bus bandwidth by size\n" + table.render(options.width, options.colour);
}

}  // namespace

std::string links_text(const Document& document, const ReportOptions& options) {
  std::string out;
  for (const Measurement& measurement : document.measurements) {
    for (const auto& [name, unit] : matrices) {
      const auto found = measurement.evidence.find(name);
      // Sums share the evidence of the benchmark they come from.
      const bool own = measurement.metric.find(".sum.") == std::string::npos;
      if (own && found != measurement.evidence.end() && is_square(*found)) {
        out += matrix_text(measurement, *found, unit, options);
      }
    }
  }
  return out + curve_text(document, options);
}

}  // namespace claimcheck::report

// What pairs of nodes reached, and which node or link is to blame. From evidence, which is open: what has another shape
// is left out.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/report/text.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

constexpr std::size_t most_columns = 16;  // that fit the screen
constexpr std::size_t most_rows = 12;     // of the nodes of a large cluster

json of(const Measurement& measurement, const char* name) {
  const auto found = measurement.evidence.find(name);
  return found == measurement.evidence.end() ? json() : *found;
}

bool is_square(const json& matrix) {
  if (!matrix.is_array() || matrix.size() < 2 || matrix.size() > most_columns) return false;
  return std::all_of(matrix.begin(), matrix.end(),
                     [&](const json& row) { return row.is_array() && row.size() == matrix.size(); });
}

// `slow`: below this, where larger is better.
std::string matrix_text(const json& matrix, double slow, const ReportOptions& options) {
  std::vector<Table::Column> columns = {{"node", true}};
  for (std::size_t column = 0; column < matrix.size(); ++column) columns.push_back({std::to_string(column), true});
  Table table(columns);
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    std::vector<Table::Cell> cells = {{std::to_string(row), Colour::faint}};
    for (const json& value : matrix[row]) {
      if (value.is_number())
        cells.push_back({number_text(value.get<double>()), value.get<double>() < slow ? Colour::bad : Colour::none});
      else
        cells.push_back({"-"});
    }
    table.add(std::move(cells));
  }
  return table.render(options.width, options.colour);
}

// Of a cluster whose matrix fits no screen: the slowest nodes by the median of their pairs.
std::string medians_text(const json& medians, double slow, const ReportOptions& options) {
  std::vector<std::pair<double, std::size_t>> nodes;
  for (std::size_t node = 0; node < medians.size(); ++node)
    if (medians[node].is_number()) nodes.emplace_back(medians[node].get<double>(), node);
  std::sort(nodes.begin(), nodes.end());
  const std::size_t shown = std::min(most_rows, nodes.size());
  Table table({{"node", true}, {"median of its pairs, GB/s", true}});
  for (std::size_t i = 0; i < shown; ++i)
    table.add({{std::to_string(nodes[i].second), Colour::faint},
               {number_text(nodes[i].first), nodes[i].first < slow ? Colour::bad : Colour::none}});
  return fmt::format(" the slowest {} of {} nodes\n", shown, nodes.size()) +
         table.render(options.width, options.colour);
}

std::string again_text(const Measurement& measurement) {
  std::string out;
  const json again = of(measurement, "measured_again");
  if (!again.is_array()) return out;
  for (const json& one : again) {
    if (!one.is_object()) continue;
    const json nodes = one.value("nodes", json());
    const json alone = one.value("alone_gbps", json());
    if (!nodes.is_array() || nodes.size() != 2 || !nodes[0].is_number() || !nodes[1].is_number() || !alone.is_number())
      continue;
    out += fmt::format("{}{}-{} {}", out.empty() ? "" : ", ", nodes[0].get<int>(), nodes[1].get<int>(),
                       number_text(alone.get<double>()));
  }
  return out;
}

}  // namespace

std::string nodes_text(const Document& document, const ReportOptions& options) {
  std::string out;
  for (const Measurement& measurement : document.measurements) {
    // A latency measured beside shares the evidence and has a matrix of its own in it.
    const bool rate = measurement.unit == "GB/s";
    const json matrix = of(measurement, rate ? "node_matrix_gbps" : "node_matrix_us");
    const json medians = of(measurement, "node_medians_gbps");
    if (!medians.is_array()) continue;  // a matrix of devices
    const bool large = rate && medians.size() > most_columns;
    if (!is_square(matrix) && !large) continue;
    const json limit = of(measurement, "slow_below_gbps");
    const double slow = rate && limit.is_number() ? limit.get<double>() : 0;
    const Metric* metric = find_metric(measurement.metric);
    out += fmt::format(" {}, {}, every two nodes\n", metric == nullptr ? measurement.metric : metric->name,
                       measurement.unit);
    out += large ? medians_text(medians, slow, options) : matrix_text(matrix, slow, options);
    if (!rate) continue;
    if (const std::string again = again_text(measurement); !again.empty())
      out += labelled(" alone     ", again, 11, options.width);
    if (const json verdict = of(measurement, "verdict"); verdict.is_string())
      out += labelled(" verdict   ", verdict.get<std::string>(), 11, options.width);
  }
  return out;
}

}  // namespace claimcheck::report

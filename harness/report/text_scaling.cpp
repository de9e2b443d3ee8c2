// Metrics scaling.*: pairs of a total (or a rate) and an efficiency, at 1, 2, 4, ... all ranks.
#include <fmt/format.h>

#include <algorithm>

#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/report/text.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

constexpr std::size_t slowest_indent = 5;
constexpr double worth_naming = 1.02;  // times the fastest

double number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

bool is_scaling(const Measurement& measurement) {
  return measurement.metric.starts_with("scaling.") && measurement.usable();
}

bool is_efficiency(const Measurement& measurement) { return measurement.metric.ends_with(".efficiency"); }

// "scaling.gemm" of "scaling.gemm.efficiency": what rows stand together.
std::string family(const Measurement& measurement) {
  return measurement.metric.substr(0, measurement.metric.rfind('.'));
}

const Measurement* total_of(const Document& document, const Measurement& efficiency) {
  for (const Measurement& other : document.measurements)
    if (is_scaling(other) && !is_efficiency(other) && other.id == efficiency.id && family(other) == family(efficiency))
      return &other;
  return nullptr;
}

// "4" or "16 on 2 nodes"; the model of a training step beside it.
std::string ranks_text(const Measurement& measurement) {
  std::string text = fmt::format("{:.0f}", number_of(measurement.conditions, "ranks"));
  const double nodes = number_of(measurement.conditions, "nodes");
  if (nodes > 1) text += fmt::format(" on {:.0f} nodes", nodes);
  return text;
}

std::string spread_text(const Measurement& measurement) {
  const auto& statistics = measurement.statistics;
  return statistics ? range_text(statistics->min, statistics->max, measurement.unit) : "";
}

// Which one the others waited for, where it was behind at all.
std::string slowest_text(const Measurement& measurement) {
  for (const char* name : {"slowest_rank", "slowest_process"}) {
    const json slowest = measurement.evidence.value(name, json());
    if (!slowest.is_object() || number_of(slowest, "times_fastest") < worth_naming) continue;
    const bool rank = std::string_view(name) == "slowest_rank";
    std::string who =
        fmt::format("{} {:.0f}", rank ? "rank" : "process", number_of(slowest, rank ? "rank" : "process"));
    if (slowest.contains("node")) who += fmt::format(" on node {:.0f}", number_of(slowest, "node"));
    return fmt::format("slowest at {} ranks: {}, {:.2f} times as long as the fastest", ranks_text(measurement), who,
                       number_of(slowest, "times_fastest"));
  }
  return {};
}

using Rows = std::vector<const Measurement*>;

// By family and what else sets a case apart (a training step's model), in order of ranks.
std::vector<std::pair<std::string, Rows>> groups_of(const Document& document) {
  std::vector<std::pair<std::string, Rows>> groups;
  for (const Measurement& measurement : document.measurements) {
    if (!is_scaling(measurement) || !is_efficiency(measurement)) continue;
    const std::size_t slash = measurement.id.find('/');
    const std::string which = slash == std::string::npos ? "" : measurement.id.substr(slash + 1);
    const bool only_ranks = which.empty() || which.starts_with("ranks:");
    const std::string key = family(measurement).substr(8) + (only_ranks ? "" : ", " + which.substr(0, which.find('/')));
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->second.push_back(&measurement);
  }
  for (auto& [key, rows] : groups)
    std::stable_sort(rows.begin(), rows.end(), [](const Measurement* a, const Measurement* b) {
      return number_of(a->conditions, "ranks") < number_of(b->conditions, "ranks");
    });
  return groups;
}

}  // namespace

std::string scaling_text(const Document& document, const ReportOptions& options) {
  Table table({{"all at once", false, 30, true},
               {"ranks", true, 16},
               {"together", true, 18},
               {"efficiency", true},
               {"min .. max", true, 20},
               {"cv", true, 7}});
  for (const auto& [name, rows] : groups_of(document)) {
    std::string slowest;
    for (const Measurement* row : rows) {
      const Measurement* total = total_of(document, *row);
      table.add({{row == rows.front() ? name : ""},
                 {ranks_text(*row)},
                 {total == nullptr ? "" : quantity_text(*total->value, total->unit)},
                 {quantity_text(*row->value, row->unit), Colour::strong},
                 {spread_text(*row)},
                 {row->statistics ? percent_text(row->statistics->cv) : ""}});
      if (std::string text = slowest_text(*row); !text.empty()) slowest = std::move(text);
    }
    if (!slowest.empty()) table.note(slowest, slowest_indent);
  }
  return table.empty() ? std::string() : table.render(options.width, options.colour);
}

}  // namespace claimcheck::report

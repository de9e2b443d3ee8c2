// The table is carried in the binary and read once.
#include "harness/result/metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/embedded.h"
#include "harness/nearest.h"

namespace claimcheck {
namespace {

std::vector<Metric> read_table() {
  const auto text = embedded_file("results-schema/metrics.json");
  if (!text) throw std::logic_error("results-schema/metrics.json is not in this binary");
  std::vector<Metric> table;
  const nlohmann::json document = nlohmann::json::parse(*text);
  for (const nlohmann::json& row : document.at("metrics")) {
    Metric metric;
    metric.key = row.at("key").get<std::string>();
    metric.name = row.at("name").get<std::string>();
    metric.unit = row.at("unit").get<std::string>();
    metric.better = row.at("better").get<std::string>() == "lower" ? Better::lower : Better::higher;
    metric.select = row.at("select").get<std::string>() == "min" ? Select::min : Select::max;
    metric.per = row.at("per").get<std::string>();
    metric.tolerance = row.at("tolerance").get<double>();
    metric.summary = row.at("summary").get<std::string>();
    table.push_back(std::move(metric));
  }
  return table;
}

}  // namespace

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> table = read_table();
  return table;
}

const Metric* find_metric(std::string_view key) {
  const auto& table = metrics();
  const auto found = std::find_if(table.begin(), table.end(), [&](const Metric& metric) { return metric.key == key; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> near_metrics(std::string_view key, std::size_t most) {
  std::vector<std::string> keys;
  for (const Metric& metric : metrics()) keys.push_back(metric.key);
  return nearest(key, keys, most);
}

bool is_metric_key(std::string_view text) {
  bool dotted = false;
  char last = '.';
  for (const char c : text) {
    if (c == '.') {
      if (last == '.') return false;
      dotted = true;
    } else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
      return false;
    }
    last = c;
  }
  return dotted && last != '.';
}

}  // namespace claimcheck

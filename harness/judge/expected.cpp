// Typical values: what healthy machines of this kind reach with this method. Kept apart from claims.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/judge/diagnosis.h"
#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/line.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/sustained.h"
#include "harness/judge/unit.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"
#include "harness/statistics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// On the card alone, whatever machine it sits in; everything else depends on the machine too.
bool on_card(std::string_view metric) { return metric.starts_with("gemm.") || metric.starts_with("memory."); }

bool applies(const Expected& row, const Platform* platform, const std::string& accelerator) {
  // Nobody set up the network of an untuned one: it is no yardstick, though models are held against it.
  if (!row.unusable.empty() || row.note == "untuned") return false;
  if (platform != nullptr && row.platform == platform->id) return true;
  if (accelerator.empty() || row.accelerator != accelerator) return false;
  return row.platform.empty() || on_card(row.metric);
}

// A GEMM row says "best" or "8192x8192x8192".
bool same_shape(const std::string& shape, const Measurement& measurement) {
  if (shape == "best") return true;
  std::string own;
  for (const char* side : {"m", "n", "k"}) {
    json value = condition_of(measurement, side);
    if (value.is_null()) value = condition_of(measurement, "n");
    own += (own.empty() ? "" : "x") + value_text(value);
  }
  return own == shape;
}

json recorded(const Measurement& measurement, const std::string& name) {
  json value = condition_of(measurement, name);
  if (!value.is_null()) return value;
  const auto ranks = number_at(measurement.conditions, "/ranks");
  const double nodes = number_at(measurement.conditions, "/nodes").value_or(1);  // over several: always recorded
  if (name == "count" && !measurement.devices.empty()) return measurement.devices.size();
  if (name == "count" && ranks && nodes >= 1) return *ranks / nodes;  // other tools list no devices
  if (name == "nodes") return 1;
  return nullptr;
}

// Every condition of the row holds for the measurement; what the measurement does not record does not hold, because a
// value for other conditions (ECC, fabric, message size) is no yardstick.
bool comparable(const Expected& row, const Measurement& measurement) {
  for (const auto& [name, wanted] : row.conditions.items()) {
    if (name == "data_type" || name == "algorithm")
      continue;  // the metric says it; the result of the machine, not a setting
    if (name == "fabric" && !row.platform.empty()) continue;  // the platform's own, whether it was used or not
    if (name == "pattern") {
      const std::string pattern = value_text(wanted);
      if (!pattern.starts_with("random") && pattern != "normal") return false;
    } else if (name == "shape") {
      if (!same_shape(value_text(wanted), measurement)) return false;
    } else if (!same_condition(wanted, recorded(measurement, name))) {
      return false;
    }
  }
  return true;
}

const Measurement* measured_for(const Document& document, const Expected& row) {
  return headline_where(document, row.metric, json::object(), [&](const Measurement& measurement) {
    return !measured_on_host(document, measurement) && limited_by_size(measurement).empty() &&
           comparable(row, measurement);
  });
}

// The rows that speak about one measurement, with their figures in the metric's unit.
struct Yardstick {
  const Measurement* measurement = nullptr;
  std::vector<const Expected*> rows;
  std::vector<double> typical;
  std::vector<double> floors;
  std::vector<double> ceilings;
};

void add_row(const Expected& row, const Metric& metric, Yardstick& yardstick) {
  const auto in_unit = [&](const std::optional<double>& value, std::vector<double>& list) {
    if (!value) return;
    if (const auto converted = convert(*value, find_unit(row.unit), find_unit(metric.unit))) list.push_back(*converted);
  };
  yardstick.rows.push_back(&row);
  in_unit(row.typical, yardstick.typical);
  in_unit(row.floor, yardstick.floors);
  in_unit(row.ceiling, yardstick.ceilings);
}

// Typical less what varies between healthy machines; without a typical value the vendor's own pass line.
Line line_of(const Yardstick& yardstick, const Metric& metric) {
  Line line;
  const bool higher = metric.better == Better::higher;
  line.comparison = higher ? ">=" : "<=";
  const double tolerance = on_card(metric.key) ? sustained_tolerance(metric.key) : metric.tolerance;
  if (!yardstick.typical.empty()) {
    line.value = median(yardstick.typical) * (higher ? 1 - tolerance : 1 + tolerance);
  } else {
    line.value = median(yardstick.floors);
  }
  return line;
}

Claim claim_of(const Yardstick& yardstick, const Line& line, const Metric& metric) {
  Claim claim;
  claim.id = "expected:" + yardstick.rows.front()->id;
  claim.metric = metric.key;
  claim.comparison = line.comparison;
  claim.value = line.value;
  claim.unit = metric.unit;
  claim.definition = {{"comparison", "typical"}, {"conditions", yardstick.rows.front()->conditions}};
  const auto span = [&](const char* name, const std::vector<double>& values) {
    if (values.empty()) return;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    claim.definition[name] = {*low, *high};
  };
  span("typical", yardstick.typical);
  span("floor", yardstick.floors);
  span("ceiling", yardstick.ceilings);
  json methods = json::array();
  json ids = json::array();
  for (const Expected* row : yardstick.rows) {
    methods.push_back(row->platform.empty() ? row->method : fmt::format("{} on {}", row->method, row->platform));
    for (const std::string& id : row->sources) ids.push_back(id);
  }
  claim.source = {{"from", "catalog"}, {"ids", ids}, {"text", methods}};
  if (!yardstick.rows.front()->date.empty()) claim.source["date"] = yardstick.rows.front()->date;
  return claim;
}

std::string reason_of(VerdictKind kind, const Yardstick& yardstick, const Line& line, const Reading& reading,
                      const std::string& unit) {
  const bool has_typical = !yardstick.typical.empty();
  const double yard = has_typical ? median(yardstick.typical) : line.value;
  std::string text =
      fmt::format("{} is {} of {} {}", quantity_text(reading.value, unit), share_text(reading.value / yard),
                  has_typical ? "the typical" : "the vendor's pass line", quantity_text(yard, unit));
  if (kind == VerdictKind::not_met) {
    text += fmt::format(", {} {}", line.comparison == ">=" ? "below" : "above", quantity_text(line.value, unit));
  }
  if (kind == VerdictKind::inconclusive) {
    text += fmt::format(", and its interval ({}) straddles {}",
                        range_text(reading.interval->first, reading.interval->second, unit),
                        quantity_text(line.value, unit));
  }
  return text;
}

Verdict verdict_of(const Document& document, const Yardstick& yardstick, const Metric& metric) {
  const Line line = line_of(yardstick, metric);
  const Reading reading = reading_of(*yardstick.measurement);
  Verdict verdict;
  verdict.claim = claim_of(yardstick, line, metric);
  verdict.kind = decide(line, reading);
  verdict.attained = reading.value;
  if (!reading.few_samples) verdict.interval = reading.interval;
  verdict.measurement_id = yardstick.measurement->id;
  verdict.reason = reason_of(verdict.kind, yardstick, line, reading, metric.unit);
  if (verdict.kind != VerdictKind::met) verdict.diagnosis = diagnose(document, *yardstick.measurement);
  return verdict;
}

}  // namespace

std::vector<Verdict> expected_verdicts(const Document& document, const Catalog& catalog) {
  const Platform* platform = platform_of(document, catalog);
  std::string accelerator = platform == nullptr ? std::string() : platform->accelerator;
  if (const auto seen = accelerators_seen(document); seen && !seen->empty()) {
    const Accelerator* found = accelerator_of_name(catalog, seen->front());
    if (found != nullptr) accelerator = found->id;
  }
  // By metric and measurement: one line a number, however many sources speak about it.
  std::map<std::pair<std::string, std::string>, Yardstick> yardsticks;
  for (const Expected& row : catalog.expected) {
    const Metric* metric = find_metric(row.metric);
    if (metric == nullptr || !applies(row, platform, accelerator)) continue;
    const Measurement* measurement = measured_for(document, row);
    if (measurement == nullptr) continue;
    Yardstick& yardstick = yardsticks[{row.metric, measurement->id}];
    yardstick.measurement = measurement;
    add_row(row, *metric, yardstick);
  }
  std::vector<Verdict> verdicts;
  for (const auto& [key, yardstick] : yardsticks) {
    if (yardstick.typical.empty() && yardstick.floors.empty()) continue;
    verdicts.push_back(verdict_of(document, yardstick, *find_metric(key.first)));
  }
  return verdicts;
}

}  // namespace claimcheck

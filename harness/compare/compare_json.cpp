// The answer for programs: results-schema/schemas/compare-answer.schema.json. Every digit; nothing rounded.
#include <fmt/format.h>

#include "harness/compare/compare.h"

namespace claimcheck::compare {
namespace {

using nlohmann::json;

json interval_json(const std::optional<Interval>& interval) {
  return interval ? json{interval->first, interval->second} : json();
}

std::string word(Beyond beyond) { return beyond == Beyond::yes ? "yes" : beyond == Beyond::maybe ? "maybe" : "no"; }

json side(const std::optional<Reading>& reading, const std::optional<Outcome>& status) {
  if (!status) return nullptr;
  return {{"status", to_string(*status)},
          {"value", reading ? json(reading->value) : json()},
          {"interval", reading ? interval_json(reading->interval) : json()}};
}

json change_json(const Change& change, bool known) {
  if (!known) return nullptr;
  return {{"relative", change.relative}, {"interval", interval_json(change.relative_interval)}, {"loss", change.loss}};
}

bool has_change(State state) {
  return state == State::worse || state == State::better || state == State::unchanged || state == State::unclear;
}

json row_json(const Row& row) {
  json devices = json::array();
  for (const DeviceRow& device : row.devices) {
    devices.push_back({{"index", device.index},
                       {"state", to_string(device.state)},
                       {"before", device.before},
                       {"now", device.after ? json(*device.after) : json()},
                       {"change", change_json(device.change, device.after.has_value())},
                       {"beyond_limit", word(device.beyond)}});
  }
  const bool changed = has_change(row.state) && row.before && row.after;
  return {{"id", row.id},
          {"metric", row.metric},
          {"unit", row.unit},
          {"better", row.better == Better::higher ? "higher" : "lower"},
          {"state", to_string(row.state)},
          {"before", side(row.before, row.old_status)},
          {"now", side(row.after, row.new_status)},
          {"change", change_json(row.change, changed)},
          {"min_effect", row.min_effect},
          {"beyond_limit", word(row.beyond)},
          {"reason", row.reason},
          {"causes", row.causes},
          {"devices", std::move(devices)}};
}

json counts_json(const Comparison& comparison) {
  json counts = json::object();
  for (int i = 0; i <= static_cast<int>(State::not_compared); ++i) {
    const State state = static_cast<State>(i);
    counts[std::string(to_string(state))] = comparison.count(state);
  }
  return counts;
}

}  // namespace

json answer_json(const Answer& answer, const Options& options) {
  json results = json::array();
  for (const Comparison& comparison : answer.comparisons) {
    json rows = json::array();
    for (const Row& row : comparison.rows) rows.push_back(row_json(row));
    results.push_back({{"file", comparison.name},
                       {"verdict", verdict_sentence(comparison, options)},
                       {"comparable", comparison.comparable()},
                       {"refused", comparison.refused},
                       {"surroundings", comparison.surroundings},
                       {"counts", counts_json(comparison)},
                       {"rows", std::move(rows)},
                       {"exit_code", static_cast<int>(exit_code({comparison}, options))}});
  }
  return {{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
          {"baseline", answer.baseline},
          {"virtual", answer.is_virtual},
          {"min_effect", options.min_effect ? json(*options.min_effect) : json()},
          {"max_regression", options.max_regression ? json(*options.max_regression) : json()},
          {"results", std::move(results)},
          {"exit_code", static_cast<int>(exit_code(answer.comparisons, options))}};
}

}  // namespace claimcheck::compare

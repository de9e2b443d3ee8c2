#include "harness/compare/compare.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "harness/compare/comparable.h"
#include "harness/result/metrics.h"

namespace claimcheck::compare {
namespace {

// An id and a metric may stand in a document more than once (imported logs of two runs): the n-th goes with the n-th.
using Key = std::tuple<std::string, std::string, int>;

std::vector<std::pair<Key, const Measurement*>> keyed(const Document& document, const std::vector<std::string>& only) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::vector<std::pair<Key, const Measurement*>> found;
  for (const Measurement& measurement : document.measurements) {
    const int number = seen[{measurement.id, measurement.metric}]++;
    if (is_asked(measurement, only)) found.push_back({{measurement.id, measurement.metric, number}, &measurement});
  }
  return found;
}

// A limit cannot be finer than what counts as a change at all.
Beyond beyond_of(const Change& change, State state, double min_effect, const Options& options) {
  if (!options.max_regression) return Beyond::no;
  const double limit = std::max(*options.max_regression, min_effect);
  if (!change.loss_interval) return change.loss > limit ? Beyond::maybe : Beyond::no;
  if (state == State::worse && change.loss_interval->first > limit) return Beyond::yes;
  return change.loss_interval->second > limit ? Beyond::maybe : Beyond::no;
}

State state_of(Kind kind) {
  switch (kind) {
    case Kind::worse:
      return State::worse;
    case Kind::better:
      return State::better;
    case Kind::unclear:
      return State::unclear;
    default:
      return State::unchanged;
  }
}

bool answers(const Measurement& measurement) { return measurement.usable(); }

// Measured, but varying too much to count; neither right nor lost.
bool unstable(const Measurement& measurement) { return measurement.status == Outcome::unstable; }

void compare_devices(const Measurement& before, const Measurement& after, const Options& options, Row& row) {
  if (before.devices.size() < 2) return;
  for (const DeviceValue& old_device : before.devices) {
    const auto old_reading = reading_of(old_device, before);
    if (!old_reading) continue;
    DeviceRow device;
    device.index = old_device.index;
    device.before = old_reading->value;
    const auto found = std::find_if(after.devices.begin(), after.devices.end(),
                                    [&](const DeviceValue& one) { return one.index == old_device.index; });
    const auto new_reading = found == after.devices.end() ? std::nullopt : reading_of(*found, after);
    if (!new_reading) {
      device.state = State::missing;
    } else {
      device.after = new_reading->value;
      device.change = change_between(*old_reading, *new_reading, row.better);
      device.state = state_of(kind_of(device.change, row.min_effect));
      device.beyond = beyond_of(device.change, device.state, row.min_effect, options);
    }
    row.devices.push_back(std::move(device));
  }
}

void compare_values(const Measurement& before, const Measurement& after, const Options& options, Row& row) {
  row.before = reading_of(before);
  row.after = reading_of(after);
  row.change = change_between(*row.before, *row.after, row.better);
  row.state = state_of(kind_of(row.change, row.min_effect));
  row.beyond = beyond_of(row.change, row.state, row.min_effect, options);
  row.causes = circumstances_that_differ(before, after);
  if (row.state == State::unclear) {
    row.reason = row.change.relative_interval ? "the 95 % intervals overlap"
                                              : "fewer than 6 repetitions, so the noise is unknown";
  }
  compare_devices(before, after, options, row);
  // A device that became worse does not show in a median over all, nor where another one is slower still.
  const auto worst = std::max_element(row.devices.begin(), row.devices.end(),
                                      [](const DeviceRow& a, const DeviceRow& b) { return a.beyond < b.beyond; });
  if (worst != row.devices.end()) row.beyond = std::max(row.beyond, worst->beyond);
  const bool device_worse = std::any_of(row.devices.begin(), row.devices.end(),
                                        [](const DeviceRow& one) { return one.state == State::worse; });
  if (device_worse && row.state != State::worse) {
    row.reason = fmt::format("single devices only; over all: {}", to_string(row.state));
    row.state = State::worse;
  }
}

// Both are there, at least one without a usable value.
void compare_outcomes(const Measurement& before, const Measurement& after, Row& row) {
  const auto told = [](const Measurement& measurement) {
    return fmt::format("{}{}{}", to_string(measurement.status), measurement.reason.empty() ? "" : ": ",
                       measurement.reason);
  };
  if (unstable(before) || unstable(after)) {
    row.state = State::unclear;
    row.reason = unstable(after) ? "now " + told(after) : "before " + told(before);
    // An answer lost is lost, whatever it varied before.
    if (unstable(before) && !answers(after) && !unstable(after)) row.state = State::lost;
    if (row.state == State::lost) row.reason = told(after);
  } else if (answers(before)) {
    row.state = State::lost;
    row.reason = told(after);
  } else if (answers(after)) {
    row.state = State::regained;
    row.reason = "before " + told(before);
  } else {
    row.state = State::broken;
    row.reason = told(after);
  }
}

Row row_of(const Measurement& measurement, const Options& options) {
  const Metric* metric = find_metric(measurement.metric);
  Row row;
  row.id = measurement.id;
  row.metric = measurement.metric;
  row.unit = measurement.unit;
  row.better = metric == nullptr ? Better::higher : metric->better;
  row.min_effect = options.min_effect.value_or(default_min_effect(metric));
  return row;
}

Row row_of_both(const Measurement& before, const Measurement& after, const Options& options) {
  Row row = row_of(before, options);
  row.old_status = before.status;
  row.new_status = after.status;
  const bool values = answers(before) && answers(after);
  const std::string differ = values ? measurements_differ(before, after) : std::string();
  if (!differ.empty()) {
    row.state = State::not_compared;
    row.reason = differ;
    row.before = reading_of(before);
    row.after = reading_of(after);
  } else if (values && find_metric(before.metric) == nullptr) {
    row.state = State::not_compared;
    row.reason = "this claimcheck does not know the metric, so not which way is better";
  } else if (values) {
    compare_values(before, after, options, row);
  } else {
    compare_outcomes(before, after, row);
  }
  return row;
}

// Why a case of the baseline is not in the result, when its plan says so.
std::string left_out_reason(const Document& document, const std::string& id) {
  static const nlohmann::json::json_pointer place("/plan/left_out");
  if (!document.run.contains(place) || !document.run.at(place).is_array()) return "not measured now";
  for (const nlohmann::json& one : document.run.at(place)) {
    if (!one.is_object() || one.value("id", nlohmann::json()) != id) continue;
    const nlohmann::json reason = one.value("reason", nlohmann::json());
    if (reason.is_string()) return "not measured now: " + reason.get<std::string>();
  }
  return "not measured now";
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::worse:
      return "worse";
    case State::better:
      return "better";
    case State::unchanged:
      return "unchanged";
    case State::unclear:
      return "unclear";
    case State::lost:
      return "lost";
    case State::regained:
      return "regained";
    case State::broken:
      return "broken";
    case State::missing:
      return "missing";
    case State::added:
      return "added";
    default:
      return "not_compared";
  }
}

bool is_asked(const Measurement& measurement, const std::vector<std::string>& only) {
  if (only.empty()) return true;
  const std::string benchmark = measurement.id.substr(0, measurement.id.find('/'));
  return std::any_of(only.begin(), only.end(), [&](const std::string& pattern) {
    for (const std::string* text : {&measurement.id, &benchmark, &measurement.metric}) {
      if (fnmatch(pattern.c_str(), text->c_str(), 0) == 0) return true;
    }
    // A bare family name stands for all its members, as in `claimcheck run --only`.
    return measurement.id.starts_with(pattern + ".") || measurement.id.starts_with(pattern + "/");
  });
}

std::size_t Comparison::count(State state) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.state == state; }));
}

bool Comparison::comparable() const {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.state != State::not_compared && row.state != State::missing && row.state != State::added &&
           row.state != State::broken;
  });
}

Comparison compare(const Named& baseline, const Named& result, const Options& options) {
  Comparison comparison;
  comparison.name = result.name;
  comparison.refused = documents_differ(baseline.document, result.document);
  comparison.surroundings = surroundings_that_differ(baseline.document, result.document);
  const auto before = keyed(baseline.document, options.only);
  const auto after = keyed(result.document, options.only);
  std::map<Key, const Measurement*> now(after.begin(), after.end());
  for (const auto& [key, measurement] : before) {
    const auto found = now.find(key);
    Row row = row_of(*measurement, options);
    if (found == now.end()) {
      row.state = measurement->usable() ? State::missing : State::broken;
      row.old_status = measurement->status;
      row.reason = left_out_reason(result.document, measurement->id);
    } else if (!comparison.refused.empty()) {
      row.state = State::not_compared;
      row.old_status = measurement->status;
      row.new_status = found->second->status;
      row.reason = comparison.refused;
    } else {
      row = row_of_both(*measurement, *found->second, options);
    }
    if (found != now.end()) now.erase(found);
    comparison.rows.push_back(std::move(row));
  }
  for (const auto& [key, measurement] : after) {
    if (now.find(key) == now.end()) continue;
    Row row = row_of(*measurement, options);
    row.state = State::added;
    row.new_status = measurement->status;
    row.reason = "not in the baseline";
    comparison.rows.push_back(std::move(row));
  }
  return comparison;
}

ExitCode exit_code(const std::vector<Comparison>& comparisons, const Options& options) {
  bool nothing = comparisons.empty();
  bool open = false;
  for (const Comparison& comparison : comparisons) {
    for (const Row& row : comparison.rows) {
      if (row.state == State::lost || row.beyond == Beyond::yes) return ExitCode::not_met;
      open = open || row.beyond == Beyond::maybe || row.state == State::missing || row.state == State::unclear ||
             row.state == State::not_compared;
      for (const DeviceRow& device : row.devices) open = open || device.state == State::missing;
    }
    nothing = nothing || !comparison.comparable();
  }
  return nothing || (options.strict && open) ? ExitCode::incomplete : ExitCode::ok;
}

}  // namespace claimcheck::compare

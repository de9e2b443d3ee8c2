// Several runs as one: what varies between them is noise that no single run can know of.
#include <fmt/format.h>

#include <algorithm>

#include "harness/compare/comparable.h"
#include "harness/compare/compare.h"
#include "harness/statistics.h"

namespace claimcheck::compare {
namespace {

const Measurement* find(const Document& document, const Measurement& like) {
  const auto found =
      std::find_if(document.measurements.begin(), document.measurements.end(), [&](const Measurement& measurement) {
        return measurement.id == like.id && measurement.metric == like.metric && measurement.usable();
      });
  return found == document.measurements.end() ? nullptr : &*found;
}

// The readings' median, and the interval from the lowest end to the highest; unset when one has none.
Reading together(const std::vector<Reading>& readings) {
  std::vector<double> values;
  std::optional<Interval> span = readings.front().interval;
  for (const Reading& reading : readings) {
    values.push_back(reading.value);
    if (!span) continue;
    if (!reading.interval) {
      span.reset();
    } else {
      *span = {std::min(span->first, reading.interval->first), std::max(span->second, reading.interval->second)};
    }
  }
  return {median(values), span};
}

void set_reading(Measurement& measurement, const std::vector<Reading>& readings) {
  const Reading whole = together(readings);
  std::vector<double> medians;
  for (const Reading& reading : readings) medians.push_back(reading.value);
  Statistics statistics = summarise(medians);
  statistics.ci95 = whole.interval;
  measurement.value = whole.value;
  measurement.statistics = std::move(statistics);
}

void set_devices(Measurement& measurement, const std::vector<const Measurement*>& runs) {
  for (DeviceValue& device : measurement.devices) {
    std::vector<Reading> readings;
    for (const Measurement* run : runs) {
      for (const DeviceValue& one : run->devices) {
        const auto reading = one.index == device.index ? reading_of(one, *run) : std::nullopt;
        if (reading) readings.push_back(*reading);
      }
    }
    if (readings.empty()) continue;
    const Reading whole = together(readings);
    device.value = whole.value;
    device.ci95 = whole.interval;
  }
}

// What the latest run did not measure, or got wrong, another one may have right.
void add_what_lacks(std::vector<Measurement>& measurements, const std::vector<Measurement>& others) {
  for (const Measurement& other : others) {
    const auto found = std::find_if(measurements.begin(), measurements.end(), [&](const Measurement& one) {
      return one.id == other.id && one.metric == other.metric;
    });
    if (found == measurements.end()) {
      measurements.push_back(other);
    } else if (!found->usable() && other.usable()) {
      *found = other;
    }
  }
}

void take_all(Measurement& measurement, const std::vector<Named>& documents) {
  std::vector<const Measurement*> runs;
  std::vector<Reading> readings;
  for (const Named& other : documents) {
    const Measurement* run = find(other.document, measurement);
    if (run == nullptr || !measurements_differ(*run, measurement).empty()) continue;
    runs.push_back(run);
    readings.push_back(reading_of(*run));
  }
  if (runs.size() < 2) return;
  set_reading(measurement, readings);
  set_devices(measurement, runs);
}

}  // namespace

Named baseline_of(const std::vector<Named>& documents) {
  if (documents.empty()) throw UserError("a baseline needs at least one result");
  Named baseline = documents.back();
  if (documents.size() == 1) return baseline;
  for (const Named& other : documents) {
    const std::string differ = documents_differ(other.document, baseline.document);
    if (differ.empty()) continue;
    throw UserError(
        fmt::format("--baseline {}: not of the same kind of machine as {}: {}", other.name, baseline.name, differ));
  }
  baseline.name = fmt::format("{} results up to {}", documents.size(), baseline.name);
  for (auto other = documents.rbegin(); other != documents.rend(); ++other) {
    add_what_lacks(baseline.document.measurements, other->document.measurements);
  }
  for (Measurement& measurement : baseline.document.measurements) {
    if (measurement.usable()) take_all(measurement, documents);
  }
  return baseline;
}

}  // namespace claimcheck::compare

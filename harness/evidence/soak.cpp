#include "harness/evidence/soak.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/judge/machine.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"
#include "harness/statistics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double longest_window_seconds = 60;

std::string benchmark_of(const Measurement& measurement) { return measurement.id.substr(0, measurement.id.find('/')); }

bool is_segment(const Measurement& measurement) {
  return measurement.conditions.is_object() && number_at(measurement.conditions, "/segment").has_value();
}

const json* series_of(const Measurement& measurement) {
  if (!is_segment(measurement) || !measurement.evidence.is_object()) return nullptr;
  const auto series = measurement.evidence.find("series");
  if (series == measurement.evidence.end() || !series->is_object()) return nullptr;
  const auto seconds = series->find("seconds");
  const auto devices = series->find("devices");
  const bool whole = seconds != series->end() && seconds->is_array() && devices != series->end() && devices->is_array();
  return whole ? &*series : nullptr;
}

SoakDevice& device_with(Soak& soak, int index) {
  for (SoakDevice& device : soak.devices)
    if (device.index == index) return device;
  return soak.devices.emplace_back(SoakDevice{index, {}});
}

// Puts a segment's samples behind those that are there; columns that lack some are filled with "unknown".
void append(Soak& soak, const json& series, double offset_seconds) {
  const std::size_t before = soak.seconds.size();
  for (const json& seconds : series["seconds"])
    soak.seconds.push_back(offset_seconds + (seconds.is_number() ? seconds.get<double>() : 0));
  for (const json& entry : series["devices"]) {
    const auto index = number_at(entry, "/index");
    if (!index) continue;
    SoakDevice& device = device_with(soak, static_cast<int>(*index));
    for (const auto& [name, values] : entry.items()) {
      if (!values.is_array()) continue;
      Column& column = device.columns[name];
      column.resize(before);
      for (const json& value : values)
        column.push_back(value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
    }
  }
  for (SoakDevice& device : soak.devices)
    for (auto& [name, column] : device.columns) column.resize(soak.seconds.size());
}

std::vector<const Measurement*> segments_with_series(const Document& document, const std::string& benchmark) {
  std::vector<const Measurement*> segments;
  for (const Measurement& measurement : document.measurements)
    if (series_of(measurement) != nullptr && benchmark_of(measurement) == benchmark) segments.push_back(&measurement);
  std::stable_sort(segments.begin(), segments.end(), [](const Measurement* a, const Measurement* b) {
    return number_at(a->conditions, "/segment") < number_at(b->conditions, "/segment");
  });
  return segments;
}

std::vector<double> values_between(const Soak& soak, const SoakDevice& device, const std::string& column, double from,
                                   double to) {
  std::vector<double> values;
  const auto found = device.columns.find(column);
  if (found == device.columns.end()) return values;
  for (std::size_t i = 0; i < soak.seconds.size(); ++i)
    if (soak.seconds[i] >= from && soak.seconds[i] <= to && found->second[i]) values.push_back(*found->second[i]);
  return values;
}

std::vector<double> first_values(const Soak& soak, const SoakDevice& device, const std::string& column) {
  return values_between(soak, device, column, 0, soak.window_seconds);
}

std::vector<double> last_values(const Soak& soak, const SoakDevice& device, const std::string& column) {
  if (soak.seconds.empty()) return {};
  return values_between(soak, device, column, soak.seconds.back() - soak.window_seconds, soak.seconds.back());
}

// The columns that say why a rate fell.
json window_json(const Soak& soak, const SoakDevice& device, const Windows& rate) {
  json entry = {{"device", device.index}, {"first", rate.first}, {"last", rate.last}, {"kept", rate.kept()}};
  for (const char* name : {"sm_clock_mhz", "power_w", "temperature_c", "memory_temperature_c", "cpu_clock_mhz"})
    if (const auto of = windows_of(soak, device, name)) entry[name] = {of->first, of->last};
  if (const auto bits = bits_of_last(soak, device, "throttle_mask")) entry["throttle_faults"] = throttle_faults(*bits);
  return entry;
}

std::optional<Measurement> retention(const Soak& soak, const Measurement& segment) {
  const std::size_t dot = segment.metric.rfind('.');
  const std::string column = segment.metric.substr(dot + 1);
  const Metric* metric = find_metric(segment.metric.substr(0, dot) + ".retention");
  if (metric == nullptr) return std::nullopt;
  Measurement kept;
  kept.id = soak.benchmark;
  kept.metric = metric->key;
  kept.unit = metric->unit;
  kept.status = Outcome::ok;
  kept.is_virtual = segment.is_virtual;
  kept.conditions = segment.conditions;
  kept.conditions.erase("segment");
  kept.conditions.update({{"segments_measured", soak.measured}, {"window_seconds", soak.window_seconds}});
  json windows = json::array();
  for (const SoakDevice& device : soak.devices) {
    const auto rate = windows_of(soak, device, column);
    if (!rate || !(rate->first > 0)) continue;
    windows.push_back(window_json(soak, device, *rate));
    kept.devices.push_back({device.index, {}, rate->kept()});
    if (!kept.value || rate->kept() < *kept.value) kept.value = rate->kept();
    if (!sags(soak, device, column, metric->tolerance)) continue;
    kept.status = Outcome::unstable;
    kept.reason += fmt::format("{}device {} fell from {} to {} between the first and the last {:.0f} s",
                               kept.reason.empty() ? "" : "; ", device.index, number_text(rate->first),
                               quantity_text(rate->last, segment.unit), soak.window_seconds);
  }
  if (!kept.value) return std::nullopt;
  kept.evidence = {{"windows", windows},
                   {"derived",
                    {{"from", segment.metric},
                     {"formula", fmt::format("median of the last {:.0f} s / median of the first, of the device that "
                                             "keeps least",
                                             soak.window_seconds)}}}};
  return kept;
}

}  // namespace

std::vector<Soak> soaks_of(const Document& document) {
  std::vector<Soak> soaks;
  std::set<std::string> seen;
  for (const Measurement& measurement : document.measurements) {
    if (series_of(measurement) == nullptr || !seen.insert(benchmark_of(measurement)).second) continue;
    Soak soak;
    soak.benchmark = benchmark_of(measurement);
    for (const Measurement* segment : segments_with_series(document, soak.benchmark)) {
      const double number = number_at(segment->conditions, "/segment").value_or(1);
      const double seconds = number_at(segment->conditions, "/segment_seconds").value_or(0);
      soak.segments = static_cast<int>(number_at(segment->conditions, "/segments").value_or(0));
      ++soak.measured;
      append(soak, *series_of(*segment), (number - 1) * seconds);
    }
    if (!soak.seconds.empty()) soak.window_seconds = std::min(longest_window_seconds, soak.seconds.back() / 3);
    soaks.push_back(std::move(soak));
  }
  return soaks;
}

std::optional<Windows> windows_of(const Soak& soak, const SoakDevice& device, const std::string& column) {
  const std::vector<double> first = first_values(soak, device, column);
  const std::vector<double> last = last_values(soak, device, column);
  if (first.size() < 2 || last.size() < 2) return std::nullopt;
  return Windows{median(first), median(last)};
}

std::optional<unsigned long long> bits_of_last(const Soak& soak, const SoakDevice& device, const std::string& column) {
  const std::vector<double> last = last_values(soak, device, column);
  if (last.empty()) return std::nullopt;
  unsigned long long bits = 0;
  for (const double value : last)
    if (value >= 0 && value < 9e15) bits |= static_cast<unsigned long long>(value);
  return bits;
}

bool sags(const Soak& soak, const SoakDevice& device, const std::string& column, double tolerance) {
  const auto rate = windows_of(soak, device, column);
  if (!rate || rate->last >= rate->first * (1 - tolerance)) return false;
  std::vector<double> first = first_values(soak, device, column);
  std::sort(first.begin(), first.end());
  return rate->last < first[first.size() / 4];
}

std::vector<Measurement> retentions(const Document& document) {
  std::vector<Measurement> found;
  for (const Soak& soak : soaks_of(document)) {
    std::set<std::string> seen;
    for (const Measurement& measurement : document.measurements) {
      if (!is_segment(measurement) || benchmark_of(measurement) != soak.benchmark) continue;
      if (!seen.insert(measurement.metric).second) continue;
      if (auto kept = retention(soak, measurement)) found.push_back(std::move(*kept));
    }
  }
  return found;
}

// Bits of nvmlClocksEventReason*, as kernels/cuda names them.
std::string throttle_faults(unsigned long long mask) {
  constexpr std::array<std::pair<unsigned long long, const char*>, 4> faults = {
      {{0x8, "hw_slowdown"}, {0x20, "sw_thermal_slowdown"}, {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake"}}};
  std::string names;
  for (const auto& [bit, name] : faults)
    if ((mask & bit) != 0) names += (names.empty() ? "" : ",") + std::string(name);
  return names;
}

}  // namespace claimcheck

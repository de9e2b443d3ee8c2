#include "harness/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "harness/compare/comparable.h"
#include "harness/compare/compare.h"
#include "harness/result/metrics.h"

namespace claimcheck::history {
namespace {

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Days since 1970 of "2026-11-30T09:41:00Z"; 0 for anything else.
double days_of(const std::string& started) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  double second = 0;
  if (std::sscanf(started.c_str(), "%4d-%2u-%2uT%2u:%2u:%lf", &year, &month, &day, &hour, &minute, &second) != 6) {
    return 0;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) return 0;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) +
         (hour * 3600.0 + minute * 60.0 + second) / 86400.0;
}

std::string machine_name(const Document& document) {
  std::string name = text_at(document.platform, "catalog_id");
  const std::string provider = text_at(document.platform, "provider");
  const std::string instance = text_at(document.platform, "instance");
  if (name.empty()) name = provider.empty() || instance.empty() ? instance : provider + ":" + instance;
  if (name.empty()) name = "unknown instance";
  return name + ", " + compare::devices_text(document);
}

const Measurement* find(const Document& document, const std::pair<std::string, std::string>& key) {
  const auto found =
      std::find_if(document.measurements.begin(), document.measurements.end(),
                   [&](const Measurement& one) { return one.id == key.first && one.metric == key.second; });
  return found == document.measurements.end() ? nullptr : &*found;
}

Series series_of(const std::pair<std::string, std::string>& key, const std::vector<const Stored*>& results,
                 const Machine& machine, const Options& options) {
  const Metric* metric = find_metric(key.second);
  Series series;
  series.id = key.first;
  series.metric = key.second;
  series.better = metric == nullptr ? Better::higher : metric->better;
  series.min_effect = options.min_effect.value_or(compare::default_min_effect(metric));
  const Measurement* latest = nullptr;
  bool latest_tried = true;
  for (std::size_t i = results.size(); i-- > 0;) {
    const Measurement* one = find(results[i]->document, key);
    if (one == nullptr) continue;
    if (!one->usable() || !(*one->value > 0)) {
      ++series.without_answer;
      if (latest_tried) series.latest_without_answer = fmt::format("{}: {}", to_string(one->status), one->reason);
    } else if (latest != nullptr && !compare::measurements_differ(*one, *latest).empty()) {
      ++series.measured_otherwise;
    } else {
      if (latest == nullptr) latest = one;
      series.unit = one->unit;
      series.points.push_back({machine.runs[i].started, machine.runs[i].days, compare::reading_of(*one), i});
    }
    latest_tried = false;
  }
  std::reverse(series.points.begin(), series.points.end());
  series.course = course_of(series.points, series.better, series.min_effect);
  return series;
}

Machine machine_of(std::vector<const Stored*> results, const Options& options) {
  std::stable_sort(results.begin(), results.end(), [](const Stored* a, const Stored* b) {
    return text_at(a->document.run, "started") < text_at(b->document.run, "started");
  });
  Machine machine;
  machine.name = machine_name(results.front()->document);
  machine.is_virtual = results.front()->document.is_virtual;
  const double first = days_of(text_at(results.front()->document.run, "started"));
  std::vector<std::pair<std::string, std::string>> keys;
  std::set<std::pair<std::string, std::string>> known;
  for (const Stored* result : results) {
    const std::string started = text_at(result->document.run, "started");
    machine.runs.push_back({result->file, started, days_of(started) - first});
  }
  // In the order of the latest result, which has the newest benchmarks.
  for (auto result = results.rbegin(); result != results.rend(); ++result) {
    for (const Measurement& one : (*result)->document.measurements) {
      const std::pair key(one.id, one.metric);
      if (compare::is_asked(one, options.metrics) && known.insert(key).second) keys.push_back(key);
    }
  }
  for (const auto& key : keys) {
    Series series = series_of(key, results, machine, options);
    if (!series.points.empty()) machine.series.push_back(std::move(series));
  }
  return machine;
}

double loss(const Series& series) {
  double worst = series.course.drift_per_30_days
                     ? (series.better == Better::higher ? -1 : 1) * *series.course.drift_per_30_days
                     : -1e9;
  for (const Step& step : series.course.steps) worst = std::max(worst, step.change.loss);
  return worst;
}

}  // namespace

History history_of(const std::string& directory, std::vector<Stored> results, const Options& options) {
  History history;
  history.directory = directory;
  std::map<std::pair<std::string, bool>, std::vector<const Stored*>> groups;
  std::set<std::pair<std::string, std::string>> seen;  // copies of one run, as an archive and its latest have
  for (const Stored& result : results) {
    const std::string id = text_at(result.document.run, "id");
    const std::string started = text_at(result.document.run, "started");
    if (days_of(started) == 0) {
      history.skipped.push_back({result.file, "/run/started is no time such as 2026-11-30T09:41:00Z"});
    } else if (!id.empty() && !seen.insert({id, started}).second) {
      history.skipped.push_back({result.file, "the same run as another file"});
    } else {
      groups[{machine_name(result.document), result.document.is_virtual}].push_back(&result);
    }
  }
  for (const auto& [name, group] : groups) history.machines.push_back(machine_of(group, options));
  std::stable_sort(history.machines.begin(), history.machines.end(),
                   [](const Machine& a, const Machine& b) { return a.runs.size() > b.runs.size(); });
  return history;
}

std::vector<const Series*> moved(const Machine& machine) {
  std::vector<const Series*> found;
  for (const Series& series : machine.series) {
    if (series.course.trend == Trend::stepped || series.course.trend == Trend::drifting) found.push_back(&series);
  }
  std::stable_sort(found.begin(), found.end(), [](const Series* a, const Series* b) { return loss(*a) > loss(*b); });
  return found;
}

}  // namespace claimcheck::history

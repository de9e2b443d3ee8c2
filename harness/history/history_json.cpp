// The answer for programs: results-schema/schemas/history-answer.schema.json.
#include <fmt/format.h>

#include "harness/history/history.h"

namespace claimcheck::history {
namespace {

using nlohmann::json;

json interval_json(const std::optional<compare::Interval>& interval) {
  return interval ? json{interval->first, interval->second} : json();
}

json reading_json(const compare::Reading& reading) {
  return {{"value", reading.value}, {"interval", interval_json(reading.interval)}};
}

json series_json(const Series& series) {
  json points = json::array();
  for (const Point& point : series.points) {
    json one = reading_json(point.reading);
    one["run"] = point.run;
    points.push_back(std::move(one));
  }
  json steps = json::array();
  for (const Step& step : series.course.steps) {
    steps.push_back({{"run", series.points[step.at].run},
                     {"started", series.points[step.at].started},
                     {"before", reading_json(step.before)},
                     {"after", reading_json(step.after)},
                     {"relative", step.change.relative},
                     {"loss", step.change.loss}});
  }
  const auto& drift = series.course.drift_per_30_days;
  return {{"id", series.id},
          {"metric", series.metric},
          {"unit", series.unit},
          {"better", series.better == Better::higher ? "higher" : "lower"},
          {"min_effect", series.min_effect},
          {"trend", to_string(series.course.trend)},
          {"points", std::move(points)},
          {"steps", std::move(steps)},
          {"drift_per_30_days", drift ? json(*drift) : json()},
          {"first_to_last", series.course.first_to_last.relative},
          {"spread", series.course.spread},
          {"without_answer", series.without_answer},
          {"measured_otherwise", series.measured_otherwise},
          {"latest_without_answer", series.latest_without_answer}};
}

}  // namespace

json history_json(const History& history) {
  json machines = json::array();
  for (const Machine& machine : history.machines) {
    json runs = json::array();
    for (const Run& run : machine.runs) runs.push_back({{"file", run.file}, {"started", run.started}});
    json series = json::array();
    for (const Series& one : machine.series) series.push_back(series_json(one));
    machines.push_back({{"name", machine.name},
                        {"virtual", machine.is_virtual},
                        {"verdict", verdict_sentence(machine)},
                        {"runs", std::move(runs)},
                        {"series", std::move(series)}});
  }
  json skipped = json::array();
  for (const Skipped& one : history.skipped) skipped.push_back({{"file", one.file}, {"reason", one.reason}});
  return {{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
          {"directory", history.directory},
          {"machines", std::move(machines)},
          {"skipped", std::move(skipped)}};
}

}  // namespace claimcheck::history

// The answer for a terminal, at most 100 columns: for each machine the verdict, then what moved, then the number of the
// steady ones.
#include <fmt/format.h>

#include <algorithm>

#include "harness/compare/words.h"
#include "harness/history/history.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"

namespace claimcheck::history {
namespace {

constexpr std::size_t width = 100;

std::string day(const std::string& started) { return started.substr(0, 10); }

std::string name_of(const Series& series) {
  compare::Row row;
  row.id = series.id;
  row.metric = series.metric;
  return compare::row_name(row);
}

std::size_t count(const Machine& machine, Trend trend) {
  return static_cast<std::size_t>(std::count_if(machine.series.begin(), machine.series.end(),
                                                [&](const Series& series) { return series.course.trend == trend; }));
}

bool lost_ground(const Series& series) {
  if (!series.course.steps.empty()) return series.course.steps.back().change.loss > 0;
  const double drift = series.course.drift_per_30_days.value_or(0);
  return series.better == Better::higher ? drift < 0 : drift > 0;
}

Colour colour_of(const Series& series) {
  if (series.course.trend != Trend::stepped && series.course.trend != Trend::drifting) return Colour::none;
  return lost_ground(series) ? Colour::bad : Colour::good;
}

void add(Table& table, const Series& series) {
  const Point& first = series.points.front();
  const Point& last = series.points.back();
  table.add({{name_of(series)},
             {std::to_string(series.points.size())},
             {quantity_text(first.reading.value, series.unit)},
             {quantity_text(last.reading.value, series.unit)},
             {compare::change_text(series.course.first_to_last.relative)},
             {percent_text(series.course.spread)},
             {course_text(series), colour_of(series)}});
  for (std::size_t i = 1; i < series.course.steps.size(); ++i) {
    const Step& step = series.course.steps[series.course.steps.size() - 1 - i];
    table.note(fmt::format("and a step {}: {}", day(series.points[step.at].started),
                           compare::change_text(step.change.relative)),
               4);
  }
  if (!series.latest_without_answer.empty()) table.note("the latest run: " + series.latest_without_answer, 4);
  if (series.measured_otherwise > 0) {
    table.note(fmt::format("{} earlier run{} measured in another way, so left out", series.measured_otherwise,
                           series.measured_otherwise == 1 ? "" : "s"),
               4);
  }
}

std::string machine_text(const Machine& machine, bool all, bool colour) {
  std::string text = labelled("machine", machine.name, 10, width);
  if (machine.is_virtual) {
    text += labelled("", "Virtual devices of the test suite: figures of no real machine.", 10, width);
  }
  text += labelled("runs",
                   fmt::format("{}, {} to {}", machine.runs.size(), day(machine.runs.front().started),
                               day(machine.runs.back().started)),
                   10, width);
  text += labelled("VERDICT", verdict_sentence(machine), 10, width);
  Table table({{"measured", false, 50, true},
               {"runs", true},
               {"first", true},
               {"last", true},
               {"change", true},
               {"spread", true},
               {"trend", false, 40}});
  const auto first = moved(machine);
  for (const Series* series : first) add(table, *series);
  for (const Series& series : machine.series) {
    const bool shown = std::find(first.begin(), first.end(), &series) != first.end();
    if (!shown && (all || !series.latest_without_answer.empty())) add(table, series);
  }
  if (!table.empty()) text += "\n" + table.render(width, colour);
  const std::size_t steady = count(machine, Trend::steady);
  const std::size_t few = count(machine, Trend::too_few);
  std::string rest = steady > 0 ? fmt::format("{} steady", steady) : "";
  if (few > 0) {
    rest += fmt::format("{}{} with fewer than {} runs, of which nothing is said", rest.empty() ? "" : ", ", few,
                        fewest_points);
  }
  if (!rest.empty()) text += "\n" + labelled("", rest, 1, width);
  return text;
}

}  // namespace

std::string course_text(const Series& series) {
  switch (series.course.trend) {
    case Trend::stepped: {
      const Step& step = series.course.steps.back();
      return fmt::format("step {}: {}", day(series.points[step.at].started),
                         compare::change_text(step.change.relative));
    }
    case Trend::drifting:
      return fmt::format("drift: {} in 30 days", compare::change_text(*series.course.drift_per_30_days));
    case Trend::steady:
      return "steady";
    default:
      return "too few runs";
  }
}

std::string verdict_sentence(const Machine& machine) {
  const auto series = moved(machine);
  const std::size_t lost =
      static_cast<std::size_t>(std::count_if(machine.series.begin(), machine.series.end(),
                                             [](const Series& one) { return !one.latest_without_answer.empty(); }));
  const std::string answers = lost == 0 ? ""
                                        : fmt::format(" {} gave no right answer in the latest run.",
                                                      lost == 1 ? std::string("One") : std::to_string(lost));
  if (series.empty()) {
    const bool any = count(machine, Trend::steady) > 0;
    return (any ? fmt::format("All {} figures with enough runs are steady.", count(machine, Trend::steady))
                : fmt::format("Too few runs to speak of a trend: {} of one figure are needed.", fewest_points)) +
           answers;
  }
  const std::size_t worse = static_cast<std::size_t>(
      std::count_if(series.begin(), series.end(), [](const Series* one) { return lost_ground(*one); }));
  return fmt::format("{} of {} figures moved, {} for the worse; most of all {} ({}).", series.size(),
                     machine.series.size() - count(machine, Trend::too_few), worse, name_of(*series.front()),
                     course_text(*series.front())) +
         answers;
}

std::string history_text(const History& history, bool all, bool colour) {
  std::string text;
  for (const Machine& machine : history.machines) {
    text += (text.empty() ? "" : "\n") + machine_text(machine, all, colour);
  }
  return text;
}

}  // namespace claimcheck::history

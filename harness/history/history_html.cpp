// The answer as one self-contained page (harness/report/html/frame.h): for each machine the verdict, a chart of each
// figure that moved and of the others that lead their metric, and a table of all.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/compare/words.h"
#include "harness/history/history.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/frame.h"
#include "harness/report/quantity.h"

namespace claimcheck::history {
namespace {

using namespace report;

constexpr std::size_t most_figures = 60;  // of a page; the table has the rest

std::string name_of(const history::Series& series) {
  compare::Row row;
  row.id = series.id;
  row.metric = series.metric;
  return compare::row_name(row);
}

// "2026-11-30 09:41"
std::string minute(const std::string& started) {
  std::string text = started.substr(0, 16);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

// Those that moved, then of each metric the first case, in the order of the latest run.
std::vector<const history::Series*> charted(const Machine& machine) {
  std::vector<const history::Series*> chosen = moved(machine);
  std::set<std::string> metrics;
  for (const history::Series* series : chosen) metrics.insert(series->metric);
  for (const history::Series& series : machine.series) {
    if (series.points.size() > 1 && metrics.insert(series.metric).second) chosen.push_back(&series);
  }
  return chosen;
}

// The measured values, and the level between the steps.
Figure figure_of(const Machine& machine, const history::Series& series, const std::string& id) {
  Figure figure;
  figure.id = id;
  figure.title = name_of(series);
  figure.caption =
      fmt::format("{}; {} is better. Runs spread by {} about their level.", course_text(series),
                  series.better == Better::higher ? "higher" : "lower", percent_text(series.course.spread));
  figure.category = "run";
  figure.unit = series.unit;
  figure.from_zero = false;
  for (const Run& run : machine.runs) figure.labels.push_back(minute(run.started));
  report::Series values{"measured", "line", std::vector<std::optional<double>>(machine.runs.size())};
  report::Series level{"level", "line", std::vector<std::optional<double>>(machine.runs.size())};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    values.values[series.points[i].run] = series.points[i].reading.value;
    for (const Step& step : series.course.steps) {
      if (i >= step.at) {
        level.values[series.points[i].run] = step.after.value;
      } else if (&step == &series.course.steps.front()) {
        level.values[series.points[i].run] = step.before.value;
      }
    }
  }
  figure.series = {values};
  if (!series.course.steps.empty()) figure.series.push_back(level);
  return figure;
}

std::string table_html(const Machine& machine) {
  std::string head;
  for (const char* word : {"measured", "runs", "first", "last", "change", "spread", "trend"}) {
    head += element("th", word, "scope=\"col\"");
  }
  std::string body;
  for (const history::Series& series : machine.series) {
    const auto cell = [](const std::string& text) { return element("td", text, "class=\"number\""); };
    std::string row = element("th", name_of(series), "scope=\"row\"") + cell(std::to_string(series.points.size()));
    row += cell(quantity_text(series.points.front().reading.value, series.unit));
    row += cell(quantity_text(series.points.back().reading.value, series.unit));
    row += cell(compare::change_text(series.course.first_to_last.relative));
    row += cell(percent_text(series.course.spread));
    std::string trend = course_text(series);
    if (!series.latest_without_answer.empty()) trend += "; the latest run: " + series.latest_without_answer;
    row += element("td", trend);
    body += wrapped_in("tr", row, fmt::format("data-series=\"{}\"", escaped(series.id + " " + series.metric)));
  }
  const std::string table =
      wrapped_in("table", wrapped_in("thead", wrapped_in("tr", head)) + wrapped_in("tbody", body));
  return wrapped_in(
      "details",
      element("summary", fmt::format("All {} figures", machine.series.size())) +
          wrapped_in("div", table, "class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"All figures\""));
}

std::string machine_html(const Machine& machine, std::size_t number, Page& page) {
  std::string html = element("p", verdict_sentence(machine), "class=\"machine-verdict\"");
  if (machine.is_virtual) {
    html = element("p", "Virtual devices of the test suite: figures of no real machine.",
                   "class=\"warning\" data-warning=\"VIRTUAL\" role=\"note\"") +
           html;
  }
  std::string figures;
  for (const history::Series* series : charted(machine)) {
    if (page.figures.size() == most_figures) break;
    page.figures.push_back(figure_of(machine, *series, fmt::format("course-{}", page.figures.size() + 1)));
    figures += figure_html(page.figures.back());
  }
  if (!figures.empty()) html += wrapped_in("div", figures, "class=\"figures\"");
  return section_html(fmt::format("machine-{}", number), machine.name, html + table_html(machine));
}

}  // namespace

std::string history_html(const History& history) {
  Page page;
  page.title = "claimcheck: history of " + history.directory;
  page.data = history_json(history);
  page.data_file = "history.json";
  page.data_explained = "holds every number of this page.";
  std::size_t runs = 0;
  std::string machines;
  for (std::size_t i = 0; i < history.machines.size(); ++i) {
    runs += history.machines[i].runs.size();
    machines += machine_html(history.machines[i], i + 1, page);
  }
  page.header_rows = element("dt", "folder") + element("dd", history.directory) + element("dt", "runs") +
                     element("dd", fmt::format("{} of {} kind{} of machine", runs, history.machines.size(),
                                               history.machines.size() == 1 ? "" : "s"));
  const std::string verdict =
      history.machines.empty() ? "No run in this folder." : verdict_sentence(history.machines.front());
  const bool steady = !history.machines.empty() && std::all_of(history.machines.begin(), history.machines.end(),
                                                               [](const Machine& one) { return moved(one).empty(); });
  page.verdict = wrapped_in("section", element("h1", verdict),
                            fmt::format("id=\"verdict\" class=\"verdict{}\"", steady ? " good" : ""));
  page.main = machines;
  std::string skipped;
  for (const Skipped& one : history.skipped) skipped += element("li", one.file + ": " + one.reason);
  if (!skipped.empty()) page.main += section_html("skipped", "Left out", wrapped_in("ul", skipped));
  return page_html(page);
}

}  // namespace claimcheck::history

// claimcheck list: benchmarks and metrics, which can run here, and why others cannot.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "harness/cli/commands.h"
#include "harness/report/layout.h"
#include "harness/run/plan.h"
#include "harness/run/worker.h"

namespace claimcheck::cli {
namespace {

constexpr std::size_t width = 100;

struct ListSettings {
  WorkerRequest worker;
  bool cases = false;
  bool json = false;
};

nlohmann::json rows_of(const std::vector<BenchmarkCase>& cases) {
  nlohmann::json rows = nlohmann::json::array();
  for (const BenchmarkCase& what : cases) {
    nlohmann::json also = nlohmann::json::array();
    for (const auto& [metric, unit] : what.also) also.push_back({{"metric", metric}, {"unit", unit}});
    rows.push_back(
        {{"id", what.id},
         {"benchmark", what.benchmark},
         {"metric", what.metric},
         {"unit", what.unit},
         {"method", what.method},
         {"summary", what.summary},
         {"quick", what.quick},
         {"also", also},
         {"runs_here", what.unsupported.empty()},
         {"why_not", what.unsupported.empty() ? nlohmann::json(nullptr) : nlohmann::json(what.unsupported)}});
  }
  return rows;
}

// One row a benchmark, or a case with --cases; a benchmark runs here when one of its cases does.
void print_rows(const std::vector<BenchmarkCase>& cases, bool every_case) {
  Table table({{"benchmark"}, {"metric"}, {"quick"}, {"here"}, {"what it measures", false, 60}});
  std::set<std::string> seen;
  std::vector<const BenchmarkCase*> cannot;
  for (const BenchmarkCase& what : cases) {
    if (!every_case && !seen.insert(what.benchmark).second) continue;
    const bool runs = what.unsupported.empty();
    table.add({{every_case ? what.id : what.benchmark},
               {what.metric},
               {what.quick ? "yes" : "no"},
               {runs ? "yes" : "no", runs ? Colour::none : Colour::open},
               {what.summary}});
    if (!runs) cannot.push_back(&what);
  }
  fmt::print("{}", table.render(width, false));
  if (!cannot.empty()) fmt::print("\ncannot run here\n");
  for (const BenchmarkCase* what : cannot) {
    fmt::print("{}", labelled("  " + what->benchmark, what->unsupported, 4, width));
  }
}

void print_list(const ListSettings& settings) {
  const Worker worker = choose_worker(settings.worker);
  const std::vector<BenchmarkCase> cases = cases_from_description(worker.description);
  if (settings.json) {
    const nlohmann::json document{{"worker", worker.kind},
                                  {"why", worker.why},
                                  {"devices", worker.description.value("devices", nlohmann::json::array())},
                                  {"benchmarks", rows_of(cases)}};
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("worker    {}{}\n", worker.kind, worker.why.empty() ? "" : " (" + worker.why + ")");
  print_rows(cases, settings.cases);
  fmt::print("\n`claimcheck explain METRIC` defines a metric; `claimcheck run --only PATTERN` measures it.\n");
}

}  // namespace

void add_list(CLI::App& app, Global& /*global*/) {
  CLI::App* command =
      app.add_subcommand("list", "List the benchmarks and metrics, which can run here, and why others cannot");
  auto settings = std::make_shared<ListSettings>();
  command->add_option("--device", settings->worker.device, "auto, cuda or host")->type_name("KIND");
  command->add_option("--worker", settings->worker.program, "Worker program to ask")->type_name("PATH");
  command->add_flag("--cases", settings->cases, "Every case (size, shape, count) of a benchmark");
  command->add_flag("--json", settings->json, "Print one JSON document");
  command->footer("Examples:\n  claimcheck list\n  claimcheck list --device host --cases");
  command->callback([settings] { print_list(*settings); });
}

}  // namespace claimcheck::cli

// claimcheck history: the results below a folder as series over time.
#include "harness/history/history.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "harness/cli/checks.h"
#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/history/scan.h"
#include "harness/result/json_text.h"
#include "harness/terminal_text.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::filesystem::path directory;
  std::vector<std::string> metrics;
  std::string min_effect;
  int depth = 4;
  std::optional<std::filesystem::path> html;
  bool json = false;
};

ExitCode run_history(const Options& options) {
  history::Options rules;
  rules.metrics = options.metrics;
  if (!options.min_effect.empty()) rules.min_effect = parse_share(options.min_effect, "--min-effect");
  history::Found found = history::scan(options.directory, options.depth);
  history::History history =
      history::history_of(sanitised_text(options.directory.string()), std::move(found.results), rules);
  history.skipped.insert(history.skipped.end(), found.skipped.begin(), found.skipped.end());
  for (const history::Skipped& one : history.skipped) {
    fmt::print(stderr, "claimcheck: skipped {}: {}\n", one.file, one.reason);
  }
  if (options.html) write_atomically(*options.html, history::history_html(history));
  if (options.json) {
    fmt::print("{}\n", dump_json(history::history_json(history)));
  } else {
    const std::string text = history::history_text(history, !options.metrics.empty(), takes_colour(STDOUT_FILENO));
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  bool any = false;
  for (const history::Machine& machine : history.machines) any = any || !machine.series.empty();
  if (any) return ExitCode::ok;
  fmt::print(stderr, "claimcheck: {}: no result with {} at most {} folders down\n", history.directory,
             options.metrics.empty() ? "a measured value" : "a value of what --metric asks for", options.depth);
  return ExitCode::incomplete;
}

}  // namespace

void add_history(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("history", "Results of many runs over time: steps, drift, spread");
  auto options = std::make_shared<Options>();
  command->add_option("DIR", options->directory, "Folder with results (result.json) below it")
      ->required()
      ->type_name("");
  command->add_option("--metric", options->metrics, "Only these, steady ones too: id, family or metric, * and ? match")
      ->type_name("PATTERN")
      ->delimiter(',');
  command
      ->add_option("--min-effect", options->min_effect,
                   "Smallest step or drift that counts, such as 2% [half the metric's tolerance]")
      ->type_name("PERCENT");
  command->add_option("--depth", options->depth, "Folders to go down")->type_name("N")->check(CLI::Range(0, 32));
  command->add_option("--html", options->html, "Write a page with charts to this file, too")->type_name("FILE");
  command->add_flag("--json", options->json, "One JSON document on stdout, nothing else");
  command->footer(
      "Examples:\n"
      "  claimcheck history claimcheck-results\n"
      "  claimcheck history /var/lib/claimcheck/nightly --metric 'gemm.bf16*' --html trend.html");
  command->callback([options, &global] { global.exit_code = run_history(*options); });
}

}  // namespace claimcheck::cli

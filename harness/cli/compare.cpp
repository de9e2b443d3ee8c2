// claimcheck compare: did this machine become slower? Results against a baseline, with noise taken into account.
#include "harness/compare/compare.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "harness/cli/checks.h"
#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/nearest.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"
#include "harness/result/metrics.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> baseline;
  std::string min_effect;
  std::string max_regression;
  std::vector<std::string> only;
  std::string format = "text";
  std::optional<std::filesystem::path> output;
  bool strict = false;
  bool json = false;
};

compare::Named named(const std::filesystem::path& file) {
  compare::Named result{sanitised_text(file.string()), sanitised(read_document(file))};
  for (const std::string& note : result.document.notes) {
    fmt::print(stderr, "claimcheck: note: {}: {}\n", result.name, sanitised_text(note));
  }
  return result;
}

void check_patterns(const std::vector<std::string>& only, const std::vector<compare::Named>& results) {
  for (const std::string& pattern : only) {
    std::vector<std::string> names;
    bool any = false;
    for (const compare::Named& result : results) {
      for (const Measurement& measurement : result.document.measurements) {
        any = any || compare::is_asked(measurement, {pattern});
        names.push_back(measurement.metric);
      }
    }
    if (any) continue;
    const auto near = nearest(pattern, names, 3);
    throw UserError(fmt::format("--only {}: no measurement in these results matches{}", sanitised_text(pattern),
                                near.empty() ? "" : "; nearest: " + quoted_choice(near)));
  }
}

compare::Options rules_of(const Options& options) {
  compare::Options rules;
  if (!options.min_effect.empty()) rules.min_effect = parse_share(options.min_effect, "--min-effect");
  if (!options.max_regression.empty()) rules.max_regression = parse_share(options.max_regression, "--max-regression");
  rules.only = options.only;
  rules.strict = options.strict;
  return rules;
}

void check_format(const std::string& format) {
  const std::vector<std::string> formats = {"text", "md", "annotations", "json"};
  if (std::find(formats.begin(), formats.end(), format) != formats.end()) return;
  throw UserError(fmt::format("--format {}: expected {}", sanitised_text(format), quoted_choice(formats)));
}

std::string rendered(const compare::Answer& answer, const compare::Options& rules, const Options& options) {
  if (options.format == "json") return dump_json(compare::answer_json(answer, rules)) + "\n";
  if (options.format == "md") return compare::answer_markdown(answer, rules);
  if (options.format == "annotations") return compare::answer_annotations(answer, rules);
  return compare::answer_text(answer, rules, !options.output && takes_colour(STDOUT_FILENO));
}

ExitCode run_compare(Options options) {
  if (options.json) options.format = "json";
  check_format(options.format);
  const compare::Options rules = rules_of(options);
  std::vector<compare::Named> before;
  for (const auto& file : options.baseline) before.push_back(named(file));
  std::vector<compare::Named> now;
  for (const auto& file : options.files) now.push_back(named(file));
  if (before.empty()) {
    if (now.size() < 2) {
      throw UserError("compare needs two results: OLD NEW, or --baseline OLD and NEW");
    }
    before.push_back(std::move(now.front()));
    now.erase(now.begin());
  }
  std::vector<compare::Named> all = before;
  all.insert(all.end(), now.begin(), now.end());
  check_patterns(rules.only, all);
  const compare::Named baseline = compare::baseline_of(before);
  compare::Answer answer{baseline.name, {}, baseline.document.is_virtual};
  for (const compare::Named& result : now) {
    answer.comparisons.push_back(compare::compare(baseline, result, rules));
    answer.is_virtual = answer.is_virtual || result.document.is_virtual;
  }
  const std::string text = rendered(answer, rules, options);
  if (options.output) {
    write_atomically(*options.output, text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return compare::exit_code(answer.comparisons, rules);
}

}  // namespace

void add_compare(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("compare", "Compare results with a baseline: what became worse beyond noise");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Result documents; the first is the baseline")->required()->type_name("");
  command
      ->add_option("--baseline", options->baseline,
                   "Baseline instead of the first FILE; given several times: the median of these runs")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--max-regression", options->max_regression,
                   "Loss that is still accepted, such as 5%; exit 1 when one is beyond it for sure")
      ->type_name("PERCENT");
  command
      ->add_option("--min-effect", options->min_effect,
                   "Smallest change that counts, such as 2% [half the metric's tolerance]")
      ->type_name("PERCENT");
  command->add_option("--only", options->only, "Measurements to compare: id, family or metric, * and ? match")
      ->type_name("PATTERN")
      ->delimiter(',');
  command->add_flag("--strict", options->strict, "Exit 4 when anything stays open: missing, unclear, not compared");
  command->add_option("--format", options->format, "text, md (for a pull request), annotations (of GitHub) or json")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "The same as --format json");
  command->add_option("--output", options->output, "Write to this file instead of the screen")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  claimcheck compare monday/result.json tuesday/result.json --max-regression 5%\n"
      "  claimcheck compare --baseline a.json --baseline b.json --baseline c.json new.json --format md");
  command->callback([options, &global] { global.exit_code = run_compare(*options); });
}

}  // namespace claimcheck::cli

// claimcheck import: what other tools measured, as a result document; with --judge the whole answer in one go.
#include "harness/import/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "harness/catalog/catalog.h"
#include "harness/cli/checks.h"
#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/cost/cost.h"
#include "harness/evidence/derived.h"
#include "harness/import/format.h"
#include "harness/judge/claim.h"
#include "harness/judge/findings.h"
#include "harness/judge/judge.h"
#include "harness/nearest.h"
#include "harness/report/format.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

using importing::FileReport;

struct Options {
  std::string tool;
  std::vector<std::filesystem::path> files;
  std::string instance;
  std::vector<std::string> claims;
  std::string price;
  std::string currency = "USD";
  int ranks = 0;
  int nodes = 0;
  bool judge = false;
  bool strict = false;
  std::optional<std::filesystem::path> output;
  bool json = false;
};

// "import log.txt" and "import nccl-tests log.txt" both work: what names no format but a file is a file.
void split_tool(Options& options) {
  const auto& known = importing::formats();
  const bool named = options.tool == "auto" || std::any_of(known.begin(), known.end(), [&](const auto& format) {
                       return format.name == options.tool;
                     });
  std::error_code ignored;
  if (named) return;
  if (options.tool != "-" && !std::filesystem::exists(options.tool, ignored)) {
    if (options.tool.find('/') != std::string::npos || options.files.empty())
      throw UserError(
          fmt::format("{}: no such file, and no tool of that name; expected [TOOL] FILE..., tools are listed by --help",
                      options.tool));
    importing::format_named(options.tool);
  }
  options.files.insert(options.files.begin(), options.tool);
  options.tool = "auto";
}

// What was read and what was not, for people: on stderr, because the answer is the document.
void tell(const std::vector<FileReport>& files) {
  for (const FileReport& file : files) {
    fmt::print(stderr, "claimcheck: {}: {} lines, {}", file.name, file.lines,
               file.formats.empty() ? "nothing recognised" : fmt::format("{}", fmt::join(file.formats, ", ")));
    if (file.not_understood > 0)
      fmt::print(stderr, "; {} not understood: line{} {}{}", file.not_understood, file.examples.size() == 1 ? "" : "s",
                 fmt::join(file.examples, ", "), file.not_understood > file.examples.size() ? ", ..." : "");
    fmt::print(stderr, "\n");
    for (const std::string& text : file.partial)
      fmt::print(stderr, "claimcheck: {}: partial: {}\n", file.name, sanitised_text(text));
    for (const std::string& text : file.notes)
      fmt::print(stderr, "claimcheck: {}: {}\n", file.name, sanitised_text(text));
  }
}

void set_platform(Document& document, const Options& options, const Catalog& catalog) {
  if (options.instance.empty()) return;
  const Platform* platform = catalog.find_platform(options.instance);
  if (platform == nullptr) {
    const std::string near = quoted_choice(catalog.near_platforms(options.instance));
    throw UserError(fmt::format("--instance {}: not in the catalog{}", options.instance,
                                near.empty() ? "" : ", did you mean " + near + "?"));
  }
  document.platform.update({{"instance", platform->instance},
                            {"provider", platform->provider},
                            {"catalog_id", platform->id},
                            {"how", "--instance"}});
}

ExitCode judge_document(Document& document, const Options& options, const Catalog& catalog) {
  std::vector<Claim> claims = parse_claims(options.claims);
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].id = fmt::format("user:{}", i + 1);
  derive(document, catalog);
  document.verdicts = all_verdicts(document, claims, catalog);
  replace_measured_findings(document, measured_findings(document, catalog));
  if (useful_rate(document)) {
    CostOptions cost;
    cost.currency = checked_currency(options.currency);
    if (!options.price.empty()) cost.price = parse_price(options.price, cost.currency);
    cost.top = 10;
    document.cost = cost_json({{"this machine", &document}}, catalog, cost);
  }
  const bool errors = std::any_of(document.findings.begin(), document.findings.end(),
                                  [](const Finding& finding) { return finding.severity == "error"; });
  const ExitCode code = exit_code(document.verdicts, document, options.strict);
  return code == ExitCode::ok && errors ? ExitCode::incomplete : code;
}

ExitCode run_import(Options options, const Global& global) {
  split_tool(options);
  if (options.files.empty()) throw UserError("no file to import: expected [TOOL] FILE..., \"-\" is standard input");
  if (!options.judge && (!options.claims.empty() || !options.price.empty() || options.strict))
    throw UserError("--claim, --price and --strict do nothing without --judge");
  const Catalog catalog = load_catalog(global.catalog_directory);
  importing::ImportOptions how;
  how.tool = options.tool;
  if (options.ranks > 0) how.said.ranks = options.ranks;
  if (options.nodes > 0) how.said.nodes = options.nodes;
  how.command = global.arguments;
  importing::Imported imported = importing::import_files(options.files, how);
  Document& document = imported.document;
  set_platform(document, options, catalog);
  tell(imported.files);
  ExitCode code = ExitCode::ok;
  if (options.judge) code = judge_document(document, options, catalog);
  const std::string text = to_json(document).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (options.output) write_atomically(*options.output, text);
  if (options.json || (!options.judge && !options.output)) {
    fmt::print("{}", text);
  } else if (options.judge) {
    ReportOptions look;
    look.colour = takes_colour(STDOUT_FILENO);
    look.catalog = &catalog;
    fmt::print("{}", render_text(document, look));
  }
  return code;
}

std::string help_of_formats() {
  std::string text = "Tools:\n  auto            what the content shows (the default)\n";
  for (const importing::Format& format : importing::formats())
    text += fmt::format("  {:<15} {}\n", format.name, format.says);
  return text +
         "Examples:\n"
         "  claimcheck import nccl.log --instance aws:p5.48xlarge --judge\n"
         "  nvbandwidth -j | claimcheck import nvbandwidth - --output result.json";
}

}  // namespace

void add_import(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("import", "Turn the output of other tools into a result, and judge it");
  auto options = std::make_shared<Options>();
  command->add_option("TOOL", options->tool, "A tool of the list below; left out or auto: by content")
      ->required()
      ->type_name("");
  command->add_option("FILE", options->files, "Its output; - is standard input. Several files make one result")
      ->type_name("");
  command->add_option("--instance", options->instance, "Instance type it was measured on")->type_name("ID");
  command->add_option("--ranks", options->ranks, "How many ranks are said to have taken part; the log is held to it")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("N")
      ->default_str("");
  command->add_option("--nodes", options->nodes, "How many nodes, where the log does not say; else it is held to it")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->default_str("");
  command->add_flag("--judge", options->judge, "Judge, price and show it, too");
  command->add_option("--claim", options->claims, "Your own claim; may be given several times")
      ->type_name("'METRIC>=VALUE UNIT'")
      ->allow_extra_args(false);
  command->add_option("--price", options->price, "What is paid: 98.32 or 2.49/gpu-hour")->type_name("PRICE");
  command->add_option("--currency", options->currency, "Of prices without one")->type_name("CODE");
  command->add_flag("--strict", options->strict, "Exit 4 when anything asked for stays open");
  command->add_option("--output", options->output, "Write the result document to this file")->type_name("FILE");
  command->add_flag("--json", options->json, "The result document on stdout, nothing else");
  command->footer(help_of_formats());
  command->callback([options, &global] { global.exit_code = run_import(*options, global); });
}

}  // namespace claimcheck::cli

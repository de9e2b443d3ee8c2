// `claimcheck report FILE`: a stored result for reading. The answer goes to stdout or a file, remarks to stderr.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/evidence/derived.h"
#include "harness/judge/findings.h"
#include "harness/report/format.h"
#include "harness/terminal_text.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::filesystem::path file;
  std::string format = "text";
  std::optional<std::filesystem::path> output;
  bool json = false;
};

// Importers and older versions leave out what follows from the catalog; the stored document stays as it is.
void add_what_follows(Document& document, const Catalog& catalog) {
  derive(document, catalog);
  replace_measured_findings(document, measured_findings(document, catalog));
}

void run_report(const Options& options, const std::optional<std::filesystem::path>& catalog_directory) {
  const ReportFormat& format = report_format(options.json ? "json" : options.format);
  Document document = read_document(options.file);
  for (const std::string& note : document.notes) {
    fmt::print(stderr, "claimcheck: note: {}: {}\n", sanitised_text(options.file.string()), sanitised_text(note));
  }
  std::optional<Catalog> catalog;
  ReportOptions look;
  if (format.name != "json") {
    catalog = load_catalog(catalog_directory);
    add_what_follows(document, *catalog);
    look.catalog = &*catalog;
  }
  look.colour = !options.output && takes_colour(STDOUT_FILENO);
  const std::string report = format.render(document, look);
  if (options.output) {
    write_atomically(*options.output, report);
  } else {
    std::fwrite(report.data(), 1, report.size(), stdout);
  }
}

}  // namespace

void add_report(CLI::App& app, Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Show a stored result: verdicts, measurements, cost.");
  command->add_option("FILE", options->file, "A result.json")->required()->type_name("FILE");
  command->add_option("--format", options->format, fmt::format("One of {}", fmt::join(report_format_names(), ", ")))
      ->type_name("NAME");
  command->add_flag("--json", options->json, "The same as --format json");
  command->add_option("--output", options->output, "Write to this file instead of the screen")->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  claimcheck report claimcheck-results/2026-11-30T0941Z-p5.48xlarge/result.json\n"
      "  claimcheck report result.json --format json --output copy.json");
  command->callback([options, &global] {
    run_report(*options, global.catalog_directory);
    global.exit_code = ExitCode::ok;
  });
}

}  // namespace claimcheck::cli

// claimcheck preflight: is this machine fit to benchmark at all? Under a minute.
#include "harness/preflight/preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/nearest.h"
#include "harness/report/annotations.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

struct Options {
  MeasureSettings measure;
  std::filesystem::path system_root = "/";
  std::string format = "text";
  std::filesystem::path out;
  bool strict = false;
  bool json = false;
};

std::string annotations_of(const preflight::Answer& answer) {
  std::vector<Annotation> annotations;
  for (const Finding& finding : answer.document.findings) {
    annotations.push_back({finding.severity == "info" ? "notice" : finding.severity, "preflight " + finding.id,
                           finding_sentences(finding)});
  }
  return annotation_lines(annotations);
}

ExitCode run_preflight(Options options, const Global& global) {
  if (options.json) options.format = "json";
  const std::vector<std::string> formats = {"text", "md", "annotations", "json"};
  if (std::find(formats.begin(), formats.end(), options.format) == formats.end()) {
    throw UserError(fmt::format("--format {}: expected {}", sanitised_text(options.format), quoted_choice(formats)));
  }
  preflight::Answer answer =
      preflight::look(options.measure, options.system_root, load_catalog(global.catalog_directory));
  answer.document = sanitised(std::move(answer.document));
  if (!options.out.empty()) {
    std::error_code ignored;  // writing says what is wrong
    std::filesystem::create_directories(options.out, ignored);
    write_atomically(options.out / "preflight.json", dump_json(preflight::answer_json(answer, options.strict)) + "\n");
    write_atomically(options.out / "preflight.md", preflight::answer_markdown(answer, options.strict));
  }
  if (options.format == "json") {
    fmt::print("{}\n", dump_json(preflight::answer_json(answer, options.strict)));
  } else if (options.format == "md") {
    fmt::print("{}", preflight::answer_markdown(answer, options.strict));
  } else if (options.format == "annotations") {
    fmt::print("{}", annotations_of(answer));
  } else {
    fmt::print("{}", preflight::answer_text(answer, options.strict, takes_colour(STDOUT_FILENO)));
  }
  return preflight::exit_code(answer, options.strict);
}

}  // namespace

void add_preflight(CLI::App& app, Global& global) {
  CLI::App* command =
      app.add_subcommand("preflight", "Say whether this machine is fit to benchmark at all, in under a minute");
  auto options = std::make_shared<Options>();
  command->add_option("--device", options->measure.device, "What would be measured: auto, cuda or host")
      ->type_name("KIND");
  command->add_flag("--strict", options->strict, "Exit 4 on warnings, too");
  command->add_option("--format", options->format, "text, md, annotations (of GitHub) or json")->type_name("NAME");
  command->add_option("--out", options->out, "Write preflight.json and preflight.md into this folder, too")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "The same as --format json");
  command->add_option("--max-bytes", options->measure.max_bytes, "Largest working set of one device, e.g. 64MiB")
      ->envname("CLAIMCHECK_MAX_BYTES")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true));
  command->add_option("--max-gemm", options->measure.max_gemm, "Largest m, n and k of a matrix product")
      ->envname("CLAIMCHECK_MAX_GEMM")
      ->type_name("N")
      ->check(CLI::Range(16, 65536));
  command->add_option("--min-time", options->measure.min_time_seconds, "Shortest time of one repetition [0.15]")
      ->envname("CLAIMCHECK_MIN_TIME")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 2.0));
  command->add_option("--worker", options->measure.worker, "Worker program to use")->type_name("PATH");
  command->add_option("--system-root", options->system_root)->group("");
  command->footer(
      "Examples:\n"
      "  claimcheck preflight\n"
      "  claimcheck preflight --device cuda --strict --format md\n"
      "Exit codes: 0 fit, 3 no usable device, 4 not fit; the answer says why.");
  command->callback([options, &global] { global.exit_code = run_preflight(*options, global); });
}

}  // namespace claimcheck::cli

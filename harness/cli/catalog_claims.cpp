// claimcheck catalog claims and coverage: what the buying guides say, with what is right, and what is covered of it.
#include <unistd.h>

#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/guides/coverage.h"
#include "harness/guides/statements.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

constexpr std::size_t width = 100;

struct Options {
  int guide = 0;
  std::string result;
  bool json = false;
};

}  // namespace

void add_catalog_claims(CLI::App& catalog, Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      catalog.add_subcommand("claims", "Print the guides' statements with verdict, right value, and what decides them");
  command->add_option("--guide", options->guide, "Only this guide: 0, 1 or 2")->type_name("N")->default_str("");
  command->add_option("--result", options->result, "A result of a machine they are about judges what it measured")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n  claimcheck catalog claims --guide 2\n"
      "  claimcheck catalog claims --result OUT/result.json --json");
  command->callback([options, command, &global] {
    const Catalog loaded = load_catalog(global.catalog_directory);
    std::optional<Document> document;
    if (!options->result.empty()) document = sanitised(read_document(options->result));
    const std::optional<int> guide = command->count("--guide") > 0 ? std::optional(options->guide) : std::nullopt;
    const nlohmann::json answer = guides::statements_json(loaded, guide, document ? &*document : nullptr);
    const std::string text =
        options->json ? dump_json(answer) + "\n" : guides::statements_text(answer, width, takes_colour(STDOUT_FILENO));
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
}

void add_catalog_coverage(CLI::App& catalog, Global& global) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = catalog.add_subcommand(
      "coverage", "Print what is covered of the platforms and of what the guides name, as Markdown (docs/coverage.md)");
  command->add_flag("--json", *json, "Print one JSON document");
  command->footer("Examples:\n  claimcheck catalog coverage > docs/coverage.md\n  claimcheck catalog coverage --json");
  command->callback([json, &global] {
    const nlohmann::json coverage = guides::coverage_json(load_catalog(global.catalog_directory));
    const std::string text = *json ? dump_json(coverage) + "\n" : guides::coverage_markdown(coverage);
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
}

}  // namespace claimcheck::cli

// claimcheck catalog import: prices of other projects' lists into a catalog of one's own.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "harness/catalog/import/import.h"
#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/result/json_text.h"
#include "harness/terminal_text.h"

namespace claimcheck::cli {
namespace {

constexpr std::size_t width = 100;

struct Options {
  ImportOptions import;
  std::optional<std::filesystem::path> into;
  bool dry_run = false;
  bool json = false;
};

// The catalog that the prices join: the one in DIR when there is one.
std::vector<CatalogFile> catalog_for(const Options& options, const Global& global) {
  if (!options.into) return catalog_files(global.catalog_directory);
  std::error_code error;
  if (std::filesystem::exists(*options.into / "sources.json", error)) return catalog_files(options.into);
  const bool there = std::filesystem::exists(*options.into, error);
  if (there &&
      (!std::filesystem::is_directory(*options.into, error) || !std::filesystem::is_empty(*options.into, error))) {
    throw UserError("--into " + sanitised_text(options.into->string()) +
                    ": neither a catalog (it has no sources.json) nor an empty directory; expected one of them, or a "
                    "name that is not there yet");
  }
  return catalog_files(global.catalog_directory);
}

// Nothing to go by: not one price of the lists is in the catalog now.
ExitCode code_of(const catalog_import::Merged& merged) {
  const std::size_t all = merged.added.size() + merged.changed.size() + merged.confirmed.size() +
                          merged.replaced.size() + merged.kept.size();
  return all == 0 ? ExitCode::incomplete : ExitCode::ok;
}

ExitCode import(const Options& options, const Global& global) {
  const ImportedPrices imported = import_prices(options.import, catalog_for(options, global));
  std::string written;
  if (options.into && !options.dry_run) {
    write_catalog(*options.into, imported);
    written = sanitised_text(options.into->string());
  }
  const std::string answer = options.json ? dump_json(import_json(imported, options.import, written)) + "\n"
                                          : import_text(imported, written, width, takes_colour(STDOUT_FILENO));
  std::fwrite(answer.data(), 1, answer.size(), stdout);
  return code_of(imported.merged);
}

}  // namespace

void add_catalog_import(CLI::App& catalog, Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* command = catalog.add_subcommand("import", "Take prices from other projects' lists into a catalog");
  command->add_option("FILE", options->import.files, "Lists: gpuhunt and SkyPilot CSV, karpenter, Cyclenerd, vantage")
      ->type_name("")
      ->required();
  command->add_option("--format", options->import.format, "auto, gpuhunt, skypilot, karpenter, cyclenerd or vantage")
      ->type_name("NAME");
  command->add_option("--provider", options->import.provider, "Whose prices, where neither file nor name says so")
      ->type_name("NAME");
  command->add_option("--as-of", options->import.as_of, "Day of the prices, of lists without a date inside")
      ->type_name("YYYY-MM-DD");
  command->add_option("--into", options->into, "The catalog to change; made from the built-in one when not there")
      ->type_name("DIR");
  command
      ->add_option("--replace", options->import.replace,
                   "Put a list's price in place of the catalog's, whatever their dates: aws:p5.*, '*'")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  command->add_flag("--dry-run", options->dry_run, "Say what would be done, write nothing");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  claimcheck catalog import catalogs/v8/aws/vms.csv --as-of 2026-11-30 --into my-catalog\n"
      "  claimcheck catalog import zz_generated.pricing.go pricing.yml --dry-run\n"
      "  claimcheck --catalog my-catalog cost");
  command->callback([options, &global] {
    options->import.today = today();
    global.exit_code = import(*options, global);
  });
}

}  // namespace claimcheck::cli

// claimcheck catalog: look at the catalog and verify it.
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <memory>

#include "harness/catalog/view.h"
#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

constexpr std::size_t width = 100;

struct CatalogSettings {
  CatalogQuery query;
  std::string name;
  bool json = false;
};

void print(const nlohmann::json& document, bool as_json,
           std::string (*text)(const nlohmann::json&, std::size_t, bool)) {
  const std::string answer = as_json ? dump_json(document) + "\n" : text(document, width, takes_colour(STDOUT_FILENO));
  std::fwrite(answer.data(), 1, answer.size(), stdout);
}

void add_list_command(CLI::App& catalog, Global& global) {
  auto settings = std::make_shared<CatalogSettings>();
  CLI::App* command = catalog.add_subcommand("list", "List what the catalog holds, or one kind of it");
  command
      ->add_option("kind", settings->query.kind,
                   "accelerators, platforms, prices, expected or claims; without it, how many of each")
      ->type_name("KIND");
  command->add_option("--provider", settings->query.provider, "Only what this provider offers")->type_name("NAME");
  command->add_flag("--json", settings->json, "Print one JSON document");
  command->footer(
      "Examples:\n  claimcheck catalog list platforms --provider aws\n  claimcheck catalog list prices --json");
  command->callback([settings, &global] {
    settings->query.today = today();
    print(catalog_list_json(load_catalog(global.catalog_directory), settings->query), settings->json,
          catalog_list_text);
  });
}

void add_show_command(CLI::App& catalog, Global& global) {
  auto settings = std::make_shared<CatalogSettings>();
  CLI::App* command =
      catalog.add_subcommand("show", "Show a platform or an accelerator: prices, expected values, guide statements");
  command->add_option("name", settings->name, "An id or any usual spelling of it")->type_name("NAME")->required();
  command->add_flag("--json", settings->json, "Print one JSON document");
  command->footer("Examples:\n  claimcheck catalog show p5.48xlarge\n  claimcheck catalog show 'H100 SXM' --json");
  command->callback([settings, &global] {
    print(catalog_show_json(load_catalog(global.catalog_directory), settings->name, today()), settings->json,
          catalog_show_text);
  });
}

void add_check_command(CLI::App& catalog, Global& global) {
  auto settings = std::make_shared<CatalogSettings>();
  CLI::App* command =
      catalog.add_subcommand("check", "Check every line of the catalog; exit code 2 when one is refused");
  command->add_flag("--json", settings->json, "Print one JSON document");
  command->footer("Examples:\n  claimcheck catalog check\n  claimcheck --catalog DIR catalog check");
  command->callback([settings, &global] {
    const nlohmann::json checked = catalog_check_json(check_catalog(global.catalog_directory));
    print(checked, settings->json, catalog_check_text);
    global.exit_code = checked.at("refused").empty() ? ExitCode::ok : ExitCode::usage;
  });
}

}  // namespace

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

void add_catalog(CLI::App& app, Global& global) {
  CLI::App* catalog = app.add_subcommand(
      "catalog", "Look at the catalog of accelerators, platforms and prices, check it, import prices");
  catalog->require_subcommand(1);
  catalog->footer("Examples:\n  claimcheck catalog list prices --provider aws\n  claimcheck catalog show 'H100 SXM'");
  add_list_command(*catalog, global);
  add_show_command(*catalog, global);
  add_check_command(*catalog, global);
  add_catalog_claims(*catalog, global);
  add_catalog_coverage(*catalog, global);
  add_catalog_import(*catalog, global);
}

}  // namespace claimcheck::cli

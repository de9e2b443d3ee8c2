// claimcheck catalog claims and coverage: what the buying guides say, with what is right, and what is covered of it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/terminal.h"
#include "harness/guides/coverage.h"
#include "harness/guides/statements.h"
#include "harness/judge/claim.h"
#include "harness/judge/data_sheet.h"
#include "harness/judge/judge.h"
#include "harness/nearest.h"
#include "harness/report/layout.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

constexpr std::size_t width = 100;

struct Options {
  int guide = 0;
  std::string result;
  std::string of;
  bool json = false;
};

// What a platform's row and its accelerator's data sheet claim, or a data sheet alone.
std::vector<Claim> claims_of(const std::string& name, const Catalog& catalog) {
  if (const Platform* platform = catalog.find_platform(name)) return platform_claims(*platform, catalog);
  if (const Accelerator* accelerator = catalog.find_accelerator(name))
    return data_sheet_claims(*accelerator, nullptr, catalog);
  std::vector<std::string> near = catalog.near_platforms(name);
  for (std::string& id : catalog.near_accelerators(name)) near.push_back(std::move(id));
  throw UserError(fmt::format("--of '{}' is neither a platform nor an accelerator of the catalog{}", name,
                              near.empty() ? "" : ": did you mean " + quoted_choice(near) + "?"));
}

// "dense, per device", for people; identities of things speak for themselves.
std::string definition_text(const nlohmann::json& definition) {
  std::string text;
  for (const char* name : {"density", "direction", "per", "prefix", "links", "network_kind", "printed"}) {
    const auto found = definition.find(name);
    if (found == definition.end() || !found->is_string()) continue;
    const std::string word = *found;
    const std::string_view key = name;
    text += (text.empty() ? "" : ", ") + (key == "per"         ? "per " + word
                                          : key == "direction" ? (word == "both" ? "both directions" : "one way")
                                                               : word);
  }
  return text;
}

std::string claims_text(const std::vector<Claim>& claims) {
  Table table({{"claim"}, {"definition"}});
  std::vector<std::string> sources;
  for (const Claim& claim : claims) {
    table.add({{to_text(claim)}, {definition_text(claim.definition)}});
    const std::string source = fmt::format("{}: {} ({})", claim.id.starts_with("platform:") ? "platform" : "data sheet",
                                           claim.source.value("text", ""), claim.source.value("date", "undated"));
    if (std::find(sources.begin(), sources.end(), source) == sources.end()) sources.push_back(source);
  }
  std::string text = table.render(width, false);
  for (const std::string& source : sources) text += labelled("SOURCE", source, 10, width);
  return text;
}

nlohmann::json claims_json(const std::string& name, const std::vector<Claim>& claims) {
  nlohmann::json list = nlohmann::json::array();
  for (const Claim& claim : claims) {
    Verdict verdict;
    verdict.claim = claim;
    list.push_back(to_json(verdict)["claim"]);
  }
  return {{"schema_version", "1.0"}, {"of", name}, {"claims", list}};
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

void add_catalog_claims(CLI::App& catalog, Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      catalog.add_subcommand("claims", "Print the guides' statements with verdict, right value, and what decides them");
  command->add_option("--guide", options->guide, "Only this guide: 0, 1 or 2")->type_name("N")->default_str("");
  command->add_option("--result", options->result, "A result of a machine they are about judges what it measured")
      ->type_name("FILE");
  command->add_option("--of", options->of, "Instead: what the catalog claims of this platform or accelerator")
      ->type_name("ID")
      ->excludes("--guide")
      ->excludes("--result");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n  claimcheck catalog claims --guide 2\n  claimcheck catalog claims --of p5.48xlarge\n"
      "  claimcheck catalog claims --result OUT/result.json --json");
  command->callback([options, command, &global] {
    const Catalog loaded = load_catalog(global.catalog_directory);
    if (!options->of.empty()) {
      const std::vector<Claim> claims = claims_of(options->of, loaded);
      return print(options->json ? dump_json(claims_json(options->of, claims)) + "\n" : claims_text(claims));
    }
    std::optional<Document> document;
    if (!options->result.empty()) document = sanitised(read_document(options->result));
    const std::optional<int> guide = command->count("--guide") > 0 ? std::optional(options->guide) : std::nullopt;
    const nlohmann::json answer = guides::statements_json(loaded, guide, document ? &*document : nullptr);
    const std::string text =
        options->json ? dump_json(answer) + "\n" : guides::statements_text(answer, width, takes_colour(STDOUT_FILENO));
    print(text);
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
    print(text);
  });
}

}  // namespace claimcheck::cli

// claimcheck judge: stored results against claims, without a device.
#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/cli/commands.h"
#include "harness/evidence/derived.h"
#include "harness/judge/claim.h"
#include "harness/judge/findings.h"
#include "harness/judge/meaning.h"
#include "harness/judge/offer.h"
#include "harness/nearest.h"
#include "harness/report/layout.h"
#include "harness/report/sanitise.h"
#include "harness/report/text.h"
#include "harness/result/document.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> claims;
  std::string instance;
  std::filesystem::path offer;
  bool strict = false;
  std::optional<std::filesystem::path> output;
  bool json = false;
};

// The claims a user made when it was measured, then those of now.
std::vector<Claim> user_claims(const Document& document, const std::vector<Claim>& given) {
  std::vector<Claim> claims;
  for (const Verdict& verdict : document.verdicts) {
    if (verdict.claim.id.starts_with("user:")) claims.push_back(verdict.claim);
  }
  for (Claim claim : given) {
    claim.id = fmt::format("user:{}", claims.size() + 1);
    claims.push_back(std::move(claim));
  }
  return claims;
}

const Platform* instance_of(const Options& options, const Catalog& catalog) {
  if (options.instance.empty()) return nullptr;
  if (const Platform* platform = catalog.find_platform(options.instance)) return platform;
  const std::string near = quoted_choice(catalog.near_platforms(options.instance));
  throw UserError(fmt::format("--instance '{}' is not in the catalog{}", options.instance,
                              near.empty() ? "" : ": did you mean " + near + "?"));
}

// A claim not met anywhere outweighs one left open somewhere.
ExitCode worse(ExitCode a, ExitCode b) {
  for (const ExitCode code : {ExitCode::not_met, ExitCode::incomplete}) {
    if (a == code || b == code) return code;
  }
  return ExitCode::ok;
}

std::string text_of(const std::string& name, const std::vector<Verdict>& verdicts, const Document& document) {
  const std::string found = report::findings_text(document, {});
  const std::string findings = found.empty() ? "" : "\nFOUND\n" + found;
  if (verdicts.empty()) {
    return fmt::format(
               "{}\nNothing to judge: no claim was given and the catalog promises nothing for this machine; "
               "give --claim or --instance.\n",
               name) +
           findings;
  }
  const std::string mark = document.is_virtual ? " (a virtual machine of the test suite)" : "";
  constexpr std::size_t width = 100;
  const std::string means = meaning_of_all(verdicts);
  return fmt::format("{}{}\n{}{}\n{}{}", name, mark, labelled("VERDICT", summary(verdicts), 10, width),
                     means.empty() ? "" : labelled("MEANS", means, 10, width), verdicts_text(verdicts), findings);
}

nlohmann::json answer_of(const std::string& name, const std::vector<Verdict>& verdicts, const Document& document,
                         ExitCode code) {
  nlohmann::json list = nlohmann::json::array();
  for (const Verdict& verdict : verdicts) list.push_back(to_json(verdict));
  nlohmann::json findings = nlohmann::json::array();
  for (const Finding& finding : document.findings) findings.push_back(to_json(finding));
  return {{"file", name},
          {"summary", summary(verdicts)},
          {"meaning", meaning_of_all(verdicts)},
          {"virtual", document.is_virtual},
          {"verdicts", list},
          {"findings", findings},
          {"exit_code", static_cast<int>(code)}};
}

// What the offer says where no option does; its claims after those given.
void take_offer(Options& options) {
  if (options.offer.empty()) return;
  const Offer offer = read_offer(options.offer);
  if (options.instance.empty()) options.instance = offer.instance;
  options.claims.insert(options.claims.end(), offer.claims.begin(), offer.claims.end());
}

// The document with what this judging says, for `report`.
void save(const Options& options, Document document, const std::vector<Verdict>& verdicts) {
  if (!options.output) return;
  document.verdicts = verdicts;
  write_atomically(*options.output,
                   to_json(document).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

ExitCode judge_files(const Options& options, const Global& global) {
  if (options.output && options.files.size() != 1) {
    throw UserError(fmt::format("--output takes one judged document, and {} files are given", options.files.size()));
  }
  const std::vector<Claim> given = parse_claims(options.claims);
  const Catalog catalog = load_catalog(global.catalog_directory);
  const Platform* instance = instance_of(options, catalog);
  std::vector<Document> documents;
  for (const auto& file : options.files) documents.push_back(sanitised(read_document(file)));
  ExitCode code = ExitCode::ok;
  nlohmann::json answers = nlohmann::json::array();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Document& document = documents[i];
    if (instance != nullptr) document.platform["catalog_id"] = instance->id;
    const std::string name = sanitised_text(options.files[i].string());
    replace_measured_findings(document, {});
    derive(document, catalog);
    const std::vector<Verdict> verdicts = all_verdicts(document, user_claims(document, given), catalog);
    ExitCode own = exit_code(verdicts, document, options.strict);
    if (verdicts.empty() && options.strict) own = ExitCode::incomplete;
    replace_measured_findings(document, measured_findings(document, catalog));
    code = worse(code, own);
    save(options, document, verdicts);
    if (options.json) {
      answers.push_back(answer_of(name, verdicts, document, own));
    } else {
      fmt::print("{}{}", i == 0 ? "" : "\n", text_of(name, verdicts, document));
    }
  }
  if (options.json) {
    fmt::print("{}\n", dump_json({{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
                                  {"results", answers},
                                  {"exit_code", static_cast<int>(code)}}));
  }
  return code;
}

}  // namespace

void add_judge(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("judge", "Judge stored results again; needs no device");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Result documents")->required()->type_name("");
  command->add_option("--claim", options->claims, "Your own claim; may be given several times")
      ->type_name("'METRIC>=VALUE UNIT'")
      ->allow_extra_args(false);
  command->add_option("--offer", options->offer, "What the seller promises, as a JSON file (docs/judging.md)")
      ->type_name("FILE");
  command->add_option("--instance", options->instance, "Judge as this instance type, whatever the result says")
      ->type_name("ID");
  command->add_flag("--strict", options->strict, "Exit 4 when anything stays open");
  command->add_option("--output", options->output, "Write the judged document to this file, for `claimcheck report`")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "One JSON document on stdout, nothing else");
  command->footer(
      "Examples:\n"
      "  claimcheck judge OUT/result.json --claim 'memory.triad.gbps>=2900'\n"
      "  claimcheck judge OUT/result.json --instance aws:p5.48xlarge --claim 'gemm.bf16.tflops[n=8192]>=0.7 PFLOPS'\n"
      "Claims: METRIC[condition=value,...] then >=, <=, >, < or ==, then a number and a unit of the same kind.");
  command->callback([options, &global] {
    take_offer(*options);
    global.exit_code = judge_files(*options, global);
  });
}

}  // namespace claimcheck::cli

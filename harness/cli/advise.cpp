// claimcheck advise: which machines can train a model, how many, how long, for how much money.
#include "harness/advise/advise.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/cli/checks.h"
#include "harness/cli/commands.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"
#include "harness/run/plan.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::string parameters;
  std::string tokens;
  double sequence = 4096;
  double batch_tokens = 4e6;
  int layers = 0;
  int width = 0;
  double vocabulary = 32000;
  std::string data_type;
  std::string deadline;
  double budget = 0;
  std::vector<std::filesystem::path> results;
  std::vector<std::string> instances;
  std::string provider;
  std::string term;
  std::string price;
  std::string currency = "USD";
  std::vector<std::string> rates;
  std::string interrupted_every;
  std::string restart = "10m";
  int most_nodes = 4096;
  std::size_t top = 10;
  bool allow_virtual = false;
  bool json = false;
};

// "30d" beside what other durations take.
double days_or_duration(const std::string& text, const char* option) {
  if (text.size() > 1 && text.back() == 'd') {
    char* end = nullptr;
    const double days = std::strtod(text.c_str(), &end);
    if (end == text.c_str() + text.size() - 1 && days > 0 && std::isfinite(days)) return days * 86400;
    throw UserError(fmt::format("{} '{}': expected a time such as 30d, 12h or 90m", option, text));
  }
  return parse_duration(text, option);
}

// "70e9", "7B", "1.5T": a count with the letters people give models and data.
double count_of(const std::string& text, const char* option, double least, double most, const char* example) {
  char* end = nullptr;
  const bool number = !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '.');
  double value = number ? std::strtod(text.c_str(), &end) : 0;
  const std::string unit = number ? end : "";
  for (const auto& [letters, factor] :
       {std::pair("kK", 1e3), std::pair("mM", 1e6), std::pair("bBgG", 1e9), std::pair("tT", 1e12)}) {
    if (unit.size() == 1 && std::string(letters).find(unit[0]) != std::string::npos) value *= factor;
  }
  const bool known = unit.empty() || (unit.size() == 1 && std::string("kKmMbBgGtT").find(unit[0]) != std::string::npos);
  if (!number || !known || !(value >= least && value <= most))
    throw UserError(
        fmt::format("{} '{}': expected a number from {} to {}, such as {}", option, text, least, most, example));
  return value;
}

// Layers and width give the parameters by 12 L h^2, but for embeddings and other shapes of a layer.
void check_shape(const advise::Workload& workload) {
  const double parameters = 12.0 * workload.model.layers * workload.model.width * workload.model.width;
  if (parameters > workload.model.parameters / 4 && parameters < workload.model.parameters * 4) return;
  throw UserError(
      fmt::format("--layers {} --width {}: 12 x layers x width^2 is {:.3g} parameters, far from --params {:.3g}",
                  workload.model.layers, workload.model.width, parameters, workload.model.parameters));
}

advise::Workload workload_of(const Options& options, const CLI::App& command) {
  advise::Workload workload;
  workload.model.parameters = count_of(options.parameters, "--params", 1e3, 1e13, "70e9 or 7B");
  workload.model.name = options.parameters;
  check_range("--sequence", options.sequence, 1, 1e8, "at least one token");
  check_range("--batch-tokens", options.batch_tokens, options.sequence, 1e12, "at least one sequence (--sequence)");
  check_range("--vocabulary", options.vocabulary, 1, 1e8, "at least one token");
  if (command.count("--layers") != command.count("--width"))
    throw UserError("--layers and --width go together: give both, such as --layers 80 --width 8192");
  if (command.count("--layers") > 0) {
    check_range("--layers", options.layers, 1, 10000, "from 1 to 10000");
    check_range("--width", options.width, 1, 1e6, "from 1 to 1000000");
    workload.model.layers = options.layers;
    workload.model.width = options.width;
    check_shape(workload);
  }
  workload.tokens = count_of(options.tokens, "--tokens", 1, 1e16, "1e12 or 1T");
  workload.sequence = options.sequence;
  workload.batch_tokens = options.batch_tokens;
  workload.vocabulary = options.vocabulary;
  return workload;
}

advise::AdviseOptions advise_options(const Options& options, const CLI::App& command) {
  advise::AdviseOptions advise;
  advise.workload = workload_of(options, command);
  advise.data_type = options.data_type;
  if (command.count("--deadline") > 0) advise.deadline_seconds = days_or_duration(options.deadline, "--deadline");
  if (command.count("--budget") > 0) {
    check_range("--budget", options.budget, 0, 1e15, "an amount of money in --currency");
    advise.budget = options.budget;
  }
  check_range("--most-nodes", options.most_nodes, 1, 65536, "from 1 to 65536");
  advise.most_nodes = options.most_nodes;
  advise.restart_seconds = parse_duration(options.restart, "--restart");
  advise.instances = options.instances;
  advise.cost.currency = checked_currency(options.currency);
  advise.cost.term = checked_term(options.term);
  advise.cost.provider = options.provider;
  advise.cost.top = options.top;
  advise.cost.allow_virtual = options.allow_virtual;
  if (!options.price.empty()) advise.cost.price = parse_price(options.price, advise.cost.currency);
  for (const std::string& rate : options.rates) add_rate(advise.cost.rates, rate);
  if (!options.interrupted_every.empty())
    advise.cost.seconds_between_interruptions = days_or_duration(options.interrupted_every, "--interrupted-every");
  return advise;
}

ExitCode advise_on(const Options& options, const CLI::App& command, const Global& global) {
  const advise::AdviseOptions advise = advise_options(options, command);
  if (advise.cost.price && options.results.empty())
    throw UserError("--price is what the machine of --result costs: give --result FILE");
  const Catalog catalog = load_catalog(global.catalog_directory);
  check_provider(options.provider, catalog);
  std::vector<Document> documents;
  for (const auto& file : options.results) documents.push_back(sanitised(read_document(file)));
  std::vector<PricedResult> results;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results.push_back({sanitised_text(options.results[i].string()), &documents[i]});
  }
  const nlohmann::json answer = advise::advise_json(results, catalog, advise);
  fmt::print("{}", options.json ? dump_json(answer) + "\n" : advise::advise_text(answer));
  return advise::outcome(answer);
}

void add_model_options(CLI::App& command, Options& options) {
  command.add_option("--params", options.parameters, "Parameters of the model: 70e9, 7B")
      ->type_name("N")
      ->required()
      ->group("Model");
  command.add_option("--tokens", options.tokens, "Tokens to train on: 1e12, 1T")
      ->type_name("N")
      ->required()
      ->group("Model");
  command.add_option("--sequence", options.sequence, "Tokens of a sequence")->type_name("N")->group("Model");
  command.add_option("--batch-tokens", options.batch_tokens, "Tokens of all GPUs between two updates")
      ->type_name("N")
      ->group("Model");
  command.add_option("--layers", options.layers, "Default: the shape of GPT-3's family")
      ->type_name("N")
      ->group("Model")
      ->default_str("");
  command.add_option("--width", options.width, "Of the layers")->type_name("N")->group("Model")->default_str("");
  command.add_option("--vocabulary", options.vocabulary, "Tokens the model knows")->type_name("N")->group("Model");
  command
      .add_option("--dtype", options.data_type, "bf16, fp16, tf32, fp32 or fp8; default: bf16, fp16 on cards without")
      ->type_name("TYPE")
      ->group("Model");
}

void add_price_options(CLI::App& command, Options& options) {
  command.add_option("--provider", options.provider, "Only this provider's machines")
      ->type_name("NAME")
      ->group("Machines");
  command.add_option("--instance", options.instances, "Only these; may be given several times")
      ->type_name("ID")
      ->allow_extra_args(false)
      ->group("Machines");
  command.add_option("--term", options.term, "on_demand, spot, reserved_1y or reserved_3y; none: all")
      ->type_name("TERM")
      ->group("Machines");
  command.add_option("--price", options.price, "Of the first result's machine: 98.32, 2.49/gpu-hour")
      ->type_name("PRICE")
      ->group("Machines");
  command.add_option("--currency", options.currency, "Of prices without one, of --budget and of the table")
      ->type_name("CODE")
      ->group("Machines");
  command.add_option("--fx", options.rates, "Units of a currency per US dollar; may be given several times")
      ->type_name("CODE=RATE")
      ->allow_extra_args(false)
      ->group("Machines");
  command
      .add_option("--interrupted-every", options.interrupted_every,
                  "Mean time between interruptions of one spot node; none: only failures are counted")
      ->type_name("DURATION")
      ->group("Machines");
  command.add_option("--restart", options.restart, "From an interruption until a checkpoint is read")
      ->type_name("DURATION")
      ->group("Machines");
  command.add_option("--most-nodes", options.most_nodes, "Not more of one kind")->type_name("N")->group("Machines");
}

}  // namespace

void add_advise(CLI::App& app, Global& global) {
  CLI::App* command =
      app.add_subcommand("advise", "Say which machines can train a model, how many, how long, for how much money");
  auto options = std::make_shared<Options>();
  add_model_options(*command, *options);
  command->add_option("--deadline", options->deadline, "Done in this time; none: the fewest nodes that hold the model")
      ->type_name("DURATION");
  command->add_option("--budget", options->budget, "For at most so much money")->type_name("AMOUNT")->default_str("");
  command->add_option("--result", options->results, "Result documents of measured machines, beside the catalog's")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_price_options(*command, *options);
  command->add_option("--top", options->top, "Machines shown, 0: all")->type_name("N")->check(CLI::Range(0, 1000000));
  command->add_flag("--allow-virtual", options->allow_virtual, "Use results of virtual devices, too (tests)");
  command->add_flag("--json", options->json, "One JSON document on stdout, nothing else");
  command->footer(
      "Examples:\n"
      "  claimcheck advise --params 70e9 --tokens 1e12 --deadline 30d --budget 2000000\n"
      "  claimcheck advise --params 7B --tokens 2e11 --result OUT/result.json --price 2.49/gpu-hour");
  command->callback([options, command, &global] { global.exit_code = advise_on(*options, *command, global); });
}

}  // namespace claimcheck::cli

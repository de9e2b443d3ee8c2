// claimcheck cost: what a useful EFLOP costs, measured and estimated, ranked.
#include "harness/cost/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/cli/checks.h"
#include "harness/cli/commands.h"
#include "harness/nearest.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"
#include "harness/run/plan.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> files;
  std::string instance;
  std::string price;
  std::string currency = "USD";
  std::string term;
  std::vector<std::string> rates;
  std::string data_type;
  std::string provider;
  std::size_t top = 25;
  double scaling = 0.90;
  std::string interrupted_every;
  std::string storage;
  std::string egress;
  double hours_per_month = 730;
  double storage_price = 0;
  double egress_price = 0;
  double kwh_price = 0;
  double pue = 1;
  std::string on_demand;
  std::string reserved;
  std::string upfront;
  double years = 1;
  bool years_given = false;
  bool allow_virtual = false;
  bool json = false;
};

Usage usage_of(const Options& options, const std::string& currency) {
  Usage usage;
  usage.currency = currency;
  if (!options.storage.empty()) usage.storage_gb = parse_gigabytes(options.storage, "--storage");
  if (!options.egress.empty()) usage.egress_gb = parse_gigabytes(options.egress, "--egress");
  check_range("--hours-per-month", options.hours_per_month, 0.01, 744, "hours of use in a month");
  usage.hours = options.hours_per_month;
  const auto price = [](const char* option, double value, double amount, const char* of) {
    if (value == 0) return std::optional<double>();
    if (!(amount > 0)) throw UserError(fmt::format("{} does nothing without {}, such as {} 5TB", option, of, of));
    check_range(option, value, 1e-9, 1e3, "a price of a GB, such as 0.08");
    return std::optional(value);
  };
  usage.storage_price = price("--storage-price", options.storage_price, usage.storage_gb, "--storage");
  usage.egress_price = price("--egress-price", options.egress_price, usage.egress_gb, "--egress");
  return usage;
}

CostOptions cost_options(const Options& options) {
  CostOptions cost;
  cost.currency = checked_currency(options.currency);
  cost.term = checked_term(options.term);
  if (!options.instance.empty()) cost.instance = options.instance;
  if (!options.price.empty()) cost.price = parse_price(options.price, cost.currency);
  for (const std::string& rate : options.rates) add_rate(cost.rates, rate);
  cost.data_type = options.data_type;
  cost.provider = options.provider;
  cost.top = options.top;
  cost.assumed_scaling = options.scaling;
  if (!options.interrupted_every.empty())
    cost.seconds_between_interruptions = parse_duration(options.interrupted_every, "--interrupted-every");
  if (options.kwh_price != 0) {
    check_range("--kwh-price", options.kwh_price, 1e-6, 1e6, "the price of a kilowatt-hour, such as 0.12");
    cost.kwh_price = options.kwh_price;
  }
  cost.usage = usage_of(options, cost.currency);
  check_range("--pue", options.pue, 1, 10, "at least 1, such as 1.25");
  cost.pue = options.pue;
  cost.allow_virtual = options.allow_virtual;
  if (!(options.scaling > 0) || options.scaling > 1) {
    throw UserError(fmt::format("--scaling {}: expected a share above 0 and at most 1, such as 0.9", options.scaling));
  }
  return cost;
}

void show(const nlohmann::json& value, bool as_json, const std::string& text) {
  fmt::print("{}", as_json ? dump_json(value) + "\n" : text);
}

// Of the node or the GPU, as the reserved price is.
double upfront_of(const Options& options, const Quote& reserved) {
  if (options.upfront.empty()) return 0;
  const Quote upfront = parse_price(options.upfront, reserved.currency);
  if (upfront.currency != reserved.currency || options.upfront.find('/') != std::string::npos) {
    throw UserError(
        fmt::format("--upfront '{}': expected an amount in the currency of --reserved ({}), for the same "
                    "node or GPU, without a unit",
                    options.upfront, reserved.currency));
  }
  return upfront.amount;
}

// Only --on-demand, --reserved and --years: no catalog, no result.
ExitCode compare(const Options& options) {
  if (options.on_demand.empty() || options.reserved.empty()) {
    throw UserError(
        "--on-demand and --reserved go together: one price an hour each, such as --on-demand 28 "
        "--reserved 12 --years 3");
  }
  if (!options.files.empty() || !options.instance.empty() || !options.price.empty()) {
    throw UserError(
        "--on-demand and --reserved compare two prices and nothing else: leave out FILE, --instance and --price");
  }
  check_range("--years", options.years, 1.0 / 12, 100, "a number of years, such as 1 or 3");
  const std::string currency = checked_currency(options.currency);
  const Quote reserved = parse_price(options.reserved, currency);
  const nlohmann::json terms =
      terms_json(parse_price(options.on_demand, currency), reserved, options.years, upfront_of(options, reserved));
  show({{"terms", terms}}, options.json, terms_text(terms));
  return ExitCode::ok;
}

// The price of electricity is for a power that was measured.
void check_energy(const nlohmann::json& cost, const Options& options) {
  if (options.kwh_price == 0 && options.pue == 1) return;
  const nlohmann::json& results = cost["results"];
  const bool any = std::any_of(results.begin(), results.end(), [](const nlohmann::json& result) {
    return result.contains("energy") && result["energy"].is_object();
  });
  if (any) return;
  throw UserError(fmt::format("{}: {}", options.kwh_price == 0 ? "--pue" : "--kwh-price",
                              results.empty() ? "expected a result file whose power was measured"
                                              : "in no result was the power of all devices measured"));
}

// Asked to price a result, and not one could be, or not at the price that was given.
ExitCode code_of(const nlohmann::json& cost, const Options& options) {
  const nlohmann::json& results = cost["results"];
  const bool any = std::any_of(results.begin(), results.end(),
                               [](const nlohmann::json& result) { return !result["useful"].is_null(); });
  const bool quoted = std::any_of(cost["rows"].begin(), cost["rows"].end(),
                                  [](const nlohmann::json& row) { return row["price"]["source"] == "--price"; });
  if (!options.price.empty() && !quoted) return ExitCode::incomplete;
  return results.empty() || any ? ExitCode::ok : ExitCode::incomplete;
}

ExitCode price(const Options& options, const Global& global) {
  if (!options.on_demand.empty() || !options.reserved.empty()) return compare(options);
  if (!options.upfront.empty() || options.years_given) {
    throw UserError(
        fmt::format("{} does nothing without --on-demand and --reserved, such as --on-demand 28 --reserved 12",
                    options.upfront.empty() ? "--years" : "--upfront"));
  }
  const CostOptions cost = cost_options(options);
  const Catalog catalog = load_catalog(global.catalog_directory);
  check_provider(options.provider, catalog);
  std::vector<Document> documents;
  for (const auto& file : options.files) documents.push_back(sanitised(read_document(file)));
  std::vector<PricedResult> results;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results.push_back({sanitised_text(options.files[i].string()), &documents[i]});
  }
  if (results.size() == 1) results.front().label = "this result";
  const nlohmann::json answer = cost_json(results, catalog, cost);
  check_energy(answer, options);
  show(answer, options.json, cost_text(answer));
  return code_of(answer, options);
}

}  // namespace

void add_cost(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("cost", "Price a useful EFLOP: of results, and of the whole catalog, ranked");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Result documents; none: rank the catalog")->type_name("");
  command->add_option("--instance", options->instance, "Instance type of the result, or to look at")->type_name("ID");
  command->add_option("--price", options->price, "What is paid: 98.32 or 98.32/node-hour, 2.49/gpu-hour; 0: free trial")
      ->type_name("PRICE");
  command->add_option("--currency", options->currency, "Of prices without one, and of the table")->type_name("CODE");
  command->add_option("--term", options->term, "on_demand, spot, reserved_1y or reserved_3y; none: all")
      ->type_name("TERM");
  command->add_option("--fx", options->rates, "Units of a currency per US dollar; may be given several times")
      ->type_name("CODE=RATE")
      ->allow_extra_args(false);
  command->add_option("--dtype", options->data_type, "Data type; default: the result's bf16 or fastest")
      ->type_name("TYPE");
  command->add_option("--provider", options->provider, "Only this provider's rows of the catalog")->type_name("NAME");
  command->add_option("--top", options->top, "Rows of the catalog, 0: all")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  command->add_option("--scaling", options->scaling, "Scaling assumed for several devices where it is not measured")
      ->type_name("SHARE");
  command
      ->add_option(
          "--interrupted-every", options->interrupted_every,
          "Mean time between interruptions of spot machines, for results with checkpoints; none: no loss counted")
      ->type_name("DURATION");
  command->add_option("--storage", options->storage, "Data kept beside the machine: its fee is part of the cost")
      ->type_name("SIZE")
      ->group("Fees");
  command->add_option("--egress", options->egress, "Data sent to the internet in a month: likewise")
      ->type_name("SIZE")
      ->group("Fees");
  command->add_option("--hours-per-month", options->hours_per_month, "Hours of use that a month's fees are spread over")
      ->type_name("HOURS")
      ->group("Fees");
  command
      ->add_option("--storage-price", options->storage_price,
                   "Of a GB and month, in --currency, where the catalog has none")
      ->type_name("PRICE")
      ->default_str("")
      ->group("Fees");
  command->add_option("--egress-price", options->egress_price, "Of a GB sent, likewise")
      ->type_name("PRICE")
      ->default_str("")
      ->group("Fees");
  command->add_option("--kwh-price", options->kwh_price, "Of electricity, in --currency: prices the energy measured")
      ->type_name("PRICE")
      ->default_str("");
  command->add_option("--pue", options->pue, "Power of the facility over that of its machines")->type_name("RATIO");
  command->add_option("--on-demand", options->on_demand, "Compare this price an hour ...")
      ->type_name("PRICE")
      ->group("Terms");
  command->add_option("--reserved", options->reserved, "... with this one")->type_name("PRICE")->group("Terms");
  command->add_option("--upfront", options->upfront, "... of which this is paid at the start, beside the price an hour")
      ->type_name("AMOUNT")
      ->group("Terms");
  CLI::Option* years =
      command->add_option("--years", options->years, "Over so many years")->type_name("N")->group("Terms");
  command->add_flag("--allow-virtual", options->allow_virtual, "Price results of virtual devices, too (tests)");
  command->add_flag("--json", options->json, "One JSON document on stdout, nothing else");
  command->footer(
      "Examples:\n"
      "  claimcheck cost OUT/result.json --price 2.49/gpu-hour\n"
      "  claimcheck cost --instance aws:p4d.24xlarge --storage 20TB --egress 5TB\n"
      "  claimcheck cost --on-demand 28 --reserved 12 --years 3");
  command->callback([options, years, &global] {
    options->years_given = years->count() > 0;
    global.exit_code = price(*options, global);
  });
}

}  // namespace claimcheck::cli

// claimcheck scale: all-reduce and training steps predicted for more nodes than there are.
#include "harness/scale/scale.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "harness/catalog/catalog.h"
#include "harness/cli/checks.h"
#include "harness/cli/commands.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"

namespace claimcheck::cli {
namespace {

struct Options {
  std::string nodes = "1,8,64,512";
  std::string result;
  std::string instance;
  int gpus_per_node = 0;
  double network = 0;
  std::string bytes = "1MiB,25MiB,256MiB,8GiB";
  std::string model = "1.3B";
  double batch = 8;
  double global_batch = 0;
  double sequence = 2048;
  double gradient_bytes = 2;
  double bucket_mib = 25;
  double step_share = 0;
  bool no_overlap = false;
  bool allow_virtual = false;
  bool json = false;
};

// What was not given is told by the command, not by its value: 0 is as wrong as -1.
scale::ScaleOptions scale_options(const Options& options, const CLI::App& command) {
  scale::ScaleOptions scale;
  const auto given = [&](const char* option) { return command.count(option) > 0; };
  scale.nodes = scale::parse_nodes(options.nodes);
  scale.nodes_asked = given("--nodes");
  scale.message_bytes = scale::parse_sizes(options.bytes);
  if (!options.instance.empty()) scale.machine.instance = options.instance;
  if (given("--gpus-per-node")) {
    check_range("--gpus-per-node", options.gpus_per_node, 1, 1024, "a whole number from 1 to 1024");
    scale.machine.ranks_per_node = options.gpus_per_node;
  }
  if (given("--network")) {
    check_range("--network", options.network, 1e-3, 1e6, "Gb/s one way, such as 3200");
    scale.machine.network_gbit = options.network;
  }
  if (given("--global-batch")) {
    check_range("--global-batch", options.global_batch, 1, 1e9, "at least one sequence");
    scale.global_batch = options.global_batch;
  }
  check_range("--batch", options.batch, 1, 1e6, "at least one sequence on each GPU");
  check_range("--sequence", options.sequence, 1, 1e8, "at least one token");
  if (options.gradient_bytes != 2 && options.gradient_bytes != 4) {
    throw UserError(fmt::format("--gradient-bytes {}: expected 2 (bf16) or 4 (fp32)", options.gradient_bytes));
  }
  check_range("--bucket", options.bucket_mib, 0.01, 1e6, "MiB, such as 25");
  if (given("--step-share")) {
    check_range("--step-share", options.step_share, 1e-3, 1, "a share above 0 and at most 1, such as 0.55");
    scale.step_share = options.step_share;
  }
  scale.model = scale::training_model(options.model);
  scale.batch = options.batch;
  scale.sequence = options.sequence;
  scale.gradient_bytes = options.gradient_bytes;
  scale.bucket_bytes = options.bucket_mib * scale::mib;
  scale.overlap = !options.no_overlap;
  scale.allow_virtual = options.allow_virtual;
  return scale;
}

// A training step was asked for by name, and there is none.
ExitCode code_of(const nlohmann::json& answer, const CLI::App& command) {
  const bool asked = command.count("--model") > 0;
  return asked && answer["training"].is_null() ? ExitCode::incomplete : ExitCode::ok;
}

ExitCode predict(const Options& options, const CLI::App& command, const Global& global) {
  if (options.result.empty() && options.instance.empty()) {
    throw UserError(
        "scale needs a machine: --result FILE with a measured one, or --instance ID with one of the catalog, such as "
        "aws:p5.48xlarge");
  }
  const scale::ScaleOptions scale = scale_options(options, command);
  const Catalog catalog = load_catalog(global.catalog_directory);
  std::optional<Document> document;
  if (!options.result.empty()) document = sanitised(read_document(options.result));
  const nlohmann::json answer = scale::scale_json(document ? &*document : nullptr, catalog, scale);
  fmt::print("{}", options.json ? dump_json(answer) + "\n" : scale::scale_text(answer));
  return code_of(answer, command);
}

void add_training_options(CLI::App& command, Options& options) {
  command.add_option("--model", options.model, "125M, 350M, 1.3B, 2.7B, 7B, 13B, or a number of parameters: 3B")
      ->type_name("MODEL")
      ->group("Training");
  command.add_option("--batch", options.batch, "Sequences on each GPU (weak scaling)")
      ->type_name("N")
      ->group("Training");
  command
      .add_option("--global-batch", options.global_batch,
                  "Sequences of all GPUs (strong scaling); default: --batch on each of the fewest GPUs, one on each of "
                  "the most")
      ->type_name("N")
      ->group("Training")
      ->default_str("");
  command.add_option("--sequence", options.sequence, "Tokens of a sequence")->type_name("TOKENS")->group("Training");
  command.add_option("--gradient-bytes", options.gradient_bytes, "Of one parameter: 2 (bf16) or 4 (fp32)")
      ->type_name("N")
      ->group("Training");
  command.add_option("--bucket", options.bucket_mib, "Gradients reduced at once")->type_name("MIB")->group("Training");
  command
      .add_option("--step-share", options.step_share,
                  "Share of the rate of matrix products that a step keeps; default: a measured step, else 0.55")
      ->type_name("SHARE")
      ->group("Training")
      ->default_str("");
  command.add_flag("--no-overlap", options.no_overlap, "Reduce gradients after backward, not during it")
      ->group("Training");
}

}  // namespace

void add_scale(CLI::App& app, Global& global) {
  CLI::App* command =
      app.add_subcommand("scale", "Predict all-reduce and training steps on more nodes, from a result or the catalog");
  auto options = std::make_shared<Options>();
  command->add_option("--nodes", options->nodes, "Numbers of nodes")->type_name("N,N,...");
  command->add_option("--result", options->result, "Result document that measured the machine")->type_name("FILE");
  command->add_option("--instance", options->instance, "Instance type; alone: an estimate from the catalog")
      ->type_name("ID");
  command->add_option("--gpus-per-node", options->gpus_per_node, "Default: as measured, or as the catalog says")
      ->type_name("N")
      ->default_str("");
  command->add_option("--network", options->network, "Adapters of a node together, one way; default: the catalog's")
      ->type_name("GBITS")
      ->default_str("");
  command->add_option("--bytes", options->bytes, "Message sizes of the all-reduce")->type_name("SIZE,SIZE,...");
  add_training_options(*command, *options);
  command->add_flag("--allow-virtual", options->allow_virtual, "Predict from results of virtual devices, too (tests)");
  command->add_flag("--json", options->json, "One JSON document on stdout, nothing else");
  command->footer(
      "Examples:\n"
      "  claimcheck scale --instance aws:p5.48xlarge --nodes 1,8,64,512\n"
      "  claimcheck scale --result OUT/result.json --nodes 1,16 --model 7B --batch 4");
  command->callback([options, command, &global] { global.exit_code = predict(*options, *command, global); });
}

}  // namespace claimcheck::cli

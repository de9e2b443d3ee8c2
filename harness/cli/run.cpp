// claimcheck run
#include "harness/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/judge/offer.h"
#include "harness/run/plan.h"

namespace claimcheck::cli {
namespace {

void add_measuring_options(CLI::App& command, MeasureSettings& measure) {
  command.add_option("--profile", measure.profile, "How thorough: quick, standard or soak")
      ->type_name("NAME")
      ->group("Measuring");
  command.add_option("--budget", measure.budget, "Longest time of the run; what does not fit is left out")
      ->type_name("DURATION")
      ->group("Measuring");
  command.add_option("--duration", measure.duration, "How long a soak lasts: 90s, 30m, 2h [10m]")
      ->type_name("DURATION")
      ->group("Measuring");
  command.add_option("--only", measure.only, "Benchmarks to measure: id, family or metric, * and ? match")
      ->type_name("PATTERN")
      ->delimiter(',')
      ->group("Measuring");
  command.add_option("--device", measure.device, "What to measure: auto, cuda or host")
      ->type_name("KIND")
      ->group("Measuring");
  command.add_option("--launcher", measure.launcher, "Start the worker with this, e.g. \"mpirun -np 16\"")
      ->type_name("COMMAND")
      ->group("Measuring");
  command.add_option("--repetitions", measure.repetitions, "Repetitions of each benchmark [profile's]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->group("Measuring");
  command.add_option("--min-time", measure.min_time_seconds, "Shortest time of one repetition [profile's]")
      ->envname("CLAIMCHECK_MIN_TIME")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 3600.0))
      ->group("Measuring");
  command
      .add_option("--benchmark-timeout", measure.case_limit_seconds,
                  "Longest time of one benchmark [from its estimate]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0))
      ->group("Measuring");
  command
      .add_option("--silence-timeout", measure.silence_seconds,
                  "Longest silence of the worker within a benchmark [60, more for a long set-up]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0))
      ->group("Measuring");
  command.add_option("--scratch", measure.scratch, "Where storage is measured [the output directory]")
      ->type_name("DIR")
      ->group("Measuring");
  command
      .add_option("--checkpoint-dir", measure.checkpoint_dir, "Where checkpoints go: they are measured there as well")
      ->type_name("DIR")
      ->group("Measuring");
}

void add_size_options(CLI::App& command, MeasureSettings& measure) {
  command.add_option("--max-bytes", measure.max_bytes, "Largest working set of one device, e.g. 64MiB")
      ->envname("CLAIMCHECK_MAX_BYTES")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(1.0, 1e18))  // a sign would make a size of all the memory there is
      ->group("Sizes");
  command.add_option("--max-gemm", measure.max_gemm, "Largest m, n and k of a matrix product")
      ->envname("CLAIMCHECK_MAX_GEMM")
      ->type_name("N")
      ->check(CLI::Range(16, 65536))
      ->group("Sizes");
  command.add_option("--file-bytes", measure.file_bytes, "Size of the file that storage is measured with, e.g. 1GiB")
      ->envname("CLAIMCHECK_FILE_BYTES")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(1.0, 1e18))  // a sign would make a size of all the memory there is
      ->group("Sizes");
  command.add_option("--threads", measure.threads, "CPU cores to use [all usable]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096))
      ->group("Sizes");
  command.add_option("--seed", measure.seed, "Seed of the random data")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1.8e19))
      ->group("Sizes");
  command.add_option("--worker", measure.worker, "Worker program to use")->type_name("PATH")->group("Sizes");
  // Passed on to the worker: faults for the tests of what happens then.
  command.add_option("--worker-option", measure.worker_options)->group("");
}

// What the offer says where no option does; its claims after those given.
void take_offer(const std::filesystem::path& file, JudgeSettings& judge) {
  if (file.empty()) return;
  const Offer offer = read_offer(file);
  const auto fill = [](std::string& setting, const std::string& offered) {
    if (setting.empty()) setting = offered;
  };
  fill(judge.instance, offer.instance);
  fill(judge.price, offer.price);
  fill(judge.currency, offer.currency);
  fill(judge.term, offer.term);
  judge.claims.insert(judge.claims.end(), offer.claims.begin(), offer.claims.end());
}

void add_judging_options(CLI::App& command, JudgeSettings& judge, std::filesystem::path& offer) {
  command.add_option("--instance", judge.instance, "What was rented, e.g. aws:p5.48xlarge [asked of the machine]")
      ->type_name("ID")
      ->group("Claims and price");
  command.add_option("--claim", judge.claims, "A promise to judge, e.g. 'memory.triad.gbps>=2900'")
      ->type_name("CLAIM")
      ->group("Claims and price");
  command.add_option("--offer", offer, "What the seller promises and asks, as a JSON file (docs/judging.md)")
      ->type_name("FILE")
      ->group("Claims and price");
  command.add_option("--price", judge.price, "Price: 98.32 an hour of the machine, 2.49/gpu-hour; 0: a free trial")
      ->type_name("PRICE")
      ->group("Claims and price");
  command.add_option("--currency", judge.currency, "ISO code of the currency of --price and of the table [USD]")
      ->type_name("CODE")
      ->group("Claims and price");
  command.add_option("--term", judge.term, "on_demand, spot, reserved_1y or reserved_3y [all]")
      ->type_name("TERM")
      ->group("Claims and price");
  command.add_option("--fx", judge.fx, "Rate of a currency per US dollar, e.g. CNY=7.1")
      ->type_name("CODE=RATE")
      ->group("Claims and price");
  command.add_flag("--strict", judge.strict, "Exit 4 when anything asked for stays open")->group("Claims and price");
}

// On --resume the journal says what is measured; an option that says otherwise would be ignored, so it is refused.
// What only the environment says is no such option: the journal has the last word.
void refuse_measuring_options(const CLI::App& command, const std::vector<std::string>& arguments) {
  const auto given = [&](const CLI::Option& option) {
    return option.count() > 0 && std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
             return argument.substr(0, argument.find('=')) == option.get_name();
           });
  };
  for (const CLI::Option* option : command.get_options()) {
    const std::string group = option->get_group();
    if (given(*option) && (group == "Measuring" || group == "Sizes")) {
      throw UserError(
          fmt::format("{}: not with --resume, which measures what the journal says; leave it out, or start a "
                      "new run in another --out",
                      option->get_name()));
    }
  }
}

}  // namespace

void add_run(CLI::App& app, Global& global) {
  CLI::App* command = app.add_subcommand("run", "Probe, measure, judge, price and report: the main job");
  auto settings = std::make_shared<RunSettings>();
  add_measuring_options(*command, settings->measure);
  add_size_options(*command, settings->measure);
  auto offer = std::make_shared<std::filesystem::path>();
  add_judging_options(*command, settings->judge, *offer);
  command->add_option("--out", settings->out, "Where results go [claimcheck-results/<UTC time>-<instance>]")
      ->type_name("DIR")
      ->group("Output");
  command->add_flag("--resume", settings->resume, "Finish the run in --out, or the latest one, measuring nothing twice")
      ->group("Output");
  command->add_flag("--dry-run", settings->dry_run, "Print the plan, its minutes and dollars, and stop")
      ->group("Output");
  command->add_flag("--json", settings->json, "Print the result document instead of the report")->group("Output");
  command->add_flag("--keep-identifiers", settings->keep_identifiers, "Keep host name and serials in clear")
      ->group("Output");
  command->add_option("--system-root", settings->system_root)->group("");
  command->footer(
      "Examples:\n"
      "  claimcheck run --budget 3m --instance aws:p5.48xlarge\n"
      "  claimcheck run --only memory,gemm --claim 'memory.triad.gbps>=2900' --price 2.49/gpu-hour");
  command->callback([&global, command, settings, offer] {
    settings->command = global.arguments;
    take_offer(*offer, settings->judge);
    if (settings->resume) refuse_measuring_options(*command, global.arguments);
    global.exit_code = run(*settings, load_catalog(global.catalog_directory));
  });
}

}  // namespace claimcheck::cli

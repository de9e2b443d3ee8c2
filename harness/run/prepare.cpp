#include "harness/run/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "harness/error.h"
#include "harness/judge/claim.h"
#include "harness/judge/machine.h"
#include "harness/nearest.h"
#include "harness/probe/probe.h"
#include "harness/run/devices.h"
#include "harness/run/output.h"
#include "harness/run/price.h"
#include "harness/run/resume.h"

namespace claimcheck {
namespace {

std::string run_id() {
  std::random_device entropy;
  return fmt::format("{}-{:08x}", utc_now_compact(), entropy());
}

PlanRequest plan_request(const MeasureSettings& settings) {
  const Profile* profile = find_profile(settings.profile);
  if (profile == nullptr) {
    throw UserError(fmt::format("--profile {}: expected {}", settings.profile, quoted_choice(profile_names())));
  }
  PlanRequest request;
  request.repetitions = settings.repetitions.value_or(profile->repetitions);
  request.min_time_seconds = settings.min_time_seconds.value_or(profile->min_time_seconds);
  request.only_quick = profile->only_quick;
  request.soak = profile->soak;
  if (!settings.duration.empty()) {
    if (!profile->soak)
      throw UserError(fmt::format(
          "--duration {}: only a soak lasts as long as you say; add --profile soak, or limit this one with --budget",
          settings.duration));
    constexpr double shortest_soak_seconds = 1;
    if (parse_duration(settings.duration, "--duration") < shortest_soak_seconds)
      throw UserError(fmt::format("--duration {}: expected 1 s at least", settings.duration));
  }
  request.only = settings.only;
  if (!settings.budget.empty()) request.budget_seconds = parse_duration(settings.budget, "--budget");
  return request;
}

WorkerRequest worker_request(const MeasureSettings& measure, std::optional<double> budget_seconds) {
  WorkerRequest request{measure.device, measure.worker, measure.launcher, worker_options(measure)};
  if (budget_seconds) request.patience_seconds = std::min(request.patience_seconds, *budget_seconds);
  return request;
}

std::vector<BenchmarkCase> described_cases(const Worker& worker) {
  try {
    return cases_from_description(worker.description);
  } catch (const std::invalid_argument& error) {
    throw UserError(fmt::format("{} --describe: {}", worker.program, error.what()), ExitCode::no_device);
  }
}

// Less what starting the worker took.
double budget_left(const PreparedRun& prepared, const std::string& budget) {
  const double left = *prepared.budget_seconds - prepared.seconds_so_far();
  if (left > 0) return left;
  throw UserError(fmt::format("--budget {}: used up before the first benchmark; finding the devices took {}", budget,
                              duration_text(prepared.seconds_so_far())));
}

// Reads what may be wrong in the judging part before minutes are spent on measuring.
void prepare_judging(PreparedRun& prepared, const Catalog& catalog) {
  const JudgeSettings& judging = prepared.settings.judge;
  prepared.claims = parse_claims(judging.claims);
  CostOptions& cost = prepared.cost;
  if (!judging.currency.empty()) cost.currency = judging.currency;
  if (!judging.price.empty()) cost.price = parse_price(judging.price, cost.currency);
  cost.term = judging.term;
  for (const std::string& rate : judging.fx) add_rate(cost.rates, rate);
  if (judging.instance.empty()) return;
  const Platform* platform = catalog.find_platform(judging.instance);
  if (platform == nullptr && judging.price.empty()) {
    const std::vector<std::string> near = catalog.near_platforms(judging.instance);
    throw UserError(fmt::format("--instance {}: not in the catalog{}; or give --price with it", judging.instance,
                                near.empty() ? "" : "; nearest: " + quoted_choice(near)));
  }
  cost.instance = platform == nullptr ? judging.instance : platform->id;
}

// The `platform` key: what --instance says, else what the machine says of itself, and the price of an hour.
nlohmann::json identify(const RunSettings& settings, const Catalog& catalog) {
  ProbeOptions options;
  options.root = settings.system_root;
  options.keep_identifiers = settings.keep_identifiers;
  nlohmann::json platform = probe_platform(options);
  if (!settings.judge.instance.empty()) {
    platform["instance"] = settings.judge.instance;
    platform["how"] = "--instance";
  }
  const Platform* row = nullptr;
  if (platform.value("instance", nlohmann::json()).is_string()) {
    const std::string instance = platform["instance"];
    const nlohmann::json provider = platform.value("provider", nlohmann::json());
    const bool probed = platform["how"] != "--instance" && provider.is_string();
    row = catalog.find_platform(probed ? provider.get<std::string>() + ":" + instance : instance);
  }
  platform["catalog_id"] = row == nullptr ? nlohmann::json(nullptr) : nlohmann::json(row->id);
  if (row != nullptr) {
    platform["provider"] = row->provider;
    platform["instance"] = row->instance;
  }
  platform["price"] = price_of(settings.judge, row, catalog, text_at(platform, "region"));
  return platform;
}

std::vector<Finding> probe_findings(const Document& document) {
  std::vector<Finding> findings = platform_findings(document.platform, document.system);
  for (Finding& finding : system_findings(document.system)) findings.push_back(std::move(finding));
  return findings;
}

void note_worker(PreparedRun& prepared) {
  const Worker& worker = prepared.worker;
  if (worker.kind != "host" || worker.why.empty() || prepared.settings.measure.device != "auto") return;
  // On a machine with GPUs that is not what its tenant wants to know.
  const nlohmann::json gpus = prepared.document.system.value("pci_gpus", nlohmann::json::array());
  prepared.document.findings.push_back(
      {"device.host", gpus.empty() ? "info" : "error",
       fmt::format("Measured the CPU: {}{}", worker.why, worker.why.ends_with('.') ? "" : "."),
       "--device cuda measures the GPUs and says what is missing.", nlohmann::json::object()});
}

// Judging options given again replace those of the journal.
void override_judging(JudgeSettings& kept, const JudgeSettings& given) {
  if (!given.instance.empty()) kept.instance = given.instance;
  if (!given.price.empty()) kept.price = given.price;
  if (!given.currency.empty()) kept.currency = given.currency;
  if (!given.term.empty()) kept.term = given.term;
  if (!given.fx.empty()) kept.fx = given.fx;
  if (!given.claims.empty()) kept.claims = given.claims;
  kept.strict = kept.strict || given.strict;
}

}  // namespace

nlohmann::json run_record(const PreparedRun& prepared) {
  const MeasureSettings& measure = prepared.settings.measure;
  nlohmann::json benchmarks = nlohmann::json::array();
  for (const PlannedCase& planned : prepared.plan.cases) {
    benchmarks.push_back({{"id", planned.what.id}, {"estimated_seconds", planned.estimated_seconds}});
  }
  nlohmann::json options = to_json(measure);
  options["repetitions"] = prepared.plan.repetitions;
  options["min_time_seconds"] = prepared.plan.min_time_seconds;
  return {
      {"id", prepared.header["id"]},
      {"claimcheck", CLAIMCHECK_VERSION},
      {"command", prepared.header["command"]},
      {"started", prepared.header["started"]},
      {"profile", measure.profile},
      {"budget_seconds", prepared.budget_seconds ? nlohmann::json(*prepared.budget_seconds) : nlohmann::json(nullptr)},
      {"options", options},
      {"plan",
       {{"benchmarks", benchmarks},
        {"estimated_seconds", prepared.plan.estimated_seconds},
        {"left_out", to_json(prepared.plan)["left_out"]}}},
      {"worker", {{"kind", prepared.worker.kind}, {"why", prepared.worker.why}}}};
}

PreparedRun prepare_new(const RunSettings& settings, const Catalog& catalog) {
  PreparedRun prepared;
  prepared.settings = settings;
  PlanRequest request = plan_request(settings.measure);
  prepared.budget_seconds = request.budget_seconds;
  const std::string& scratch = settings.measure.scratch;
  if (!scratch.empty() && !std::filesystem::is_directory(scratch)) {
    throw UserError(fmt::format("--scratch {}: no such directory", scratch));
  }
  const std::string& checkpoint_dir = settings.measure.checkpoint_dir;
  if (!checkpoint_dir.empty() && !std::filesystem::is_directory(checkpoint_dir)) {
    throw UserError(fmt::format("--checkpoint-dir {}: no such directory", checkpoint_dir));
  }
  prepare_judging(prepared, catalog);
  prepared.worker = choose_worker(worker_request(settings.measure, request.budget_seconds));
  if (request.budget_seconds) *request.budget_seconds = budget_left(prepared, settings.measure.budget);
  prepared.plan = make_plan(described_cases(prepared.worker), request);
  prepared.rest = prepared.plan;
  Document& document = prepared.document;
  document.platform = identify(settings, catalog);
  ProbeOptions probe;
  probe.root = settings.system_root;
  probe.keep_identifiers = settings.keep_identifiers;
  document.system = probe_system(probe);
  take_description(document.system, prepared.worker.description, settings.keep_identifiers);
  document.findings = probe_findings(document);
  note_worker(prepared);
  prepared.header = {{"kind", "run"},
                     {"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
                     {"id", run_id()},
                     {"started", utc_now()},
                     {"command", settings.command},
                     {"settings", {{"measure", to_json(settings.measure)}, {"judge", to_json(settings.judge)}}},
                     {"plan", to_json(prepared.plan)},
                     {"platform", document.platform},
                     {"system", document.system}};
  return prepared;
}

PreparedRun prepare_resumed(const RunSettings& settings, const Catalog& catalog, const std::filesystem::path& journal) {
  Resumed resumed = read_resumed(journal);
  PreparedRun prepared;
  prepared.settings = settings;
  prepared.settings.measure = resumed.measure;
  prepared.settings.judge = resumed.judge;
  override_judging(prepared.settings.judge, settings.judge);
  prepare_judging(prepared, catalog);
  prepared.header = resumed.header;
  prepared.plan = std::move(resumed.plan);
  prepared.rest = std::move(resumed.rest);
  prepared.measured_seconds = resumed.measured_seconds;
  prepared.budget_seconds = plan_request(resumed.measure).budget_seconds;
  prepared.worker = choose_worker(worker_request(resumed.measure, prepared.budget_seconds));
  Document& document = prepared.document;
  document.platform = identify(prepared.settings, catalog);
  document.system = prepared.header.value("system", nlohmann::json::object());
  document.measurements = std::move(resumed.measurements);
  document.findings = probe_findings(document);
  document.findings.insert(document.findings.end(), resumed.findings.begin(), resumed.findings.end());
  for (const Measurement& measurement : document.measurements) {
    document.is_virtual = document.is_virtual || measurement.is_virtual;
  }
  note_worker(prepared);
  return prepared;
}

}  // namespace claimcheck

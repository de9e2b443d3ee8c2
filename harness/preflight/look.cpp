// The effects of a preflight: a second of watching the CPUs, the worker's description, a short load.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "harness/findings/kinds.h"
#include "harness/judge/findings.h"
#include "harness/preflight/cpu_now.h"
#include "harness/preflight/preflight.h"
#include "harness/probe/probe.h"
#include "harness/probe/tree.h"
#include "harness/run/devices.h"
#include "harness/run/measure.h"
#include "harness/run/signals.h"
#include "harness/run/worker.h"

namespace claimcheck::preflight {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto watch_time = std::chrono::milliseconds(1000);
constexpr double describe_seconds = 25;
constexpr double load_seconds = 12;  // as estimated
constexpr double longest_load = 25;  // whatever the estimate said; with the two above under a minute

class Keeper : public MeasureObserver {
 public:
  Keeper(Document& document, const SignalGuard& signals) : document_(document), signals_(signals) {}
  void begin(const std::string&, double) override {}
  void measured(const Measurement& measurement) override {
    document_.measurements.push_back(measurement);
    document_.is_virtual = document_.is_virtual || measurement.is_virtual;
  }
  void found(const Finding& finding) override { document_.findings.push_back(finding); }
  void finished(const std::string&, double) override {}
  void described(const nlohmann::json& description) override { take_description(document_.system, description, false); }
  void tick() override {}
  int interrupted() override { return signals_.caught(); }

 private:
  Document& document_;
  const SignalGuard& signals_;
};

// A folder for the worker's log; it goes with what is in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "claimcheck-preflight-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw UserError(name + ": cannot make this directory", ExitCode::incomplete);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

std::vector<Finding> watch_cpus(const std::filesystem::path& root, const nlohmann::json& system) {
  const probe::Tree tree(root);
  const auto before = cpu_ticks(tree.text("proc/stat").value_or(""));
  std::this_thread::sleep_for(watch_time);
  const auto after = cpu_ticks(tree.text("proc/stat").value_or(""));
  const nlohmann::json threads = system.at("cpu").value("threads", nlohmann::json());
  return cpu_findings(
      before, after,
      load_a_cpu(tree.text("proc/loadavg").value_or(""), threads.is_number() ? threads.get<double>() : 0));
}

Plan plan_of(const Worker& worker, const MeasureSettings& settings) {
  PlanRequest request;
  request.min_time_seconds = settings.min_time_seconds.value_or(request.min_time_seconds);
  try {
    Plan plan = make_plan(cases_from_description(worker.description), request);
    plan.cases = short_load(plan, load_seconds);
    return plan;
  } catch (const std::invalid_argument& error) {
    throw UserError(fmt::format("{} --describe: {}", worker.program, error.what()), ExitCode::no_device);
  }
}

void load(const Worker& worker, const Plan& plan, Document& document) {
  if (plan.cases.empty()) return;
  const Folder folder;
  const SignalGuard signals;
  Keeper keeper(document, signals);
  MeasureOptions options;
  options.command = worker.command;
  options.command.push_back("--scratch=" + folder.path.string());
  options.limits.budget = longest_load;
  options.limits.of_case = longest_load;
  options.limits.silence = longest_load;
  options.log = folder.path / "worker.log";
  const MeasureResult result = measure(plan, options, keeper);
  if (result.interrupted_by != 0) throw UserError("ended by a signal before there was an answer", ExitCode::incomplete);
}

// The first of each id stays.
void drop_doubles(std::vector<Finding>& findings) {
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Finding& one) { return one.id == finding.id; });
    if (!known) kept.push_back(std::move(finding));
  }
  findings = std::move(kept);
}

}  // namespace

std::vector<PlannedCase> short_load(const Plan& plan, double seconds) {
  std::vector<std::string> families;
  std::map<std::string, const PlannedCase*> chosen;
  for (const PlannedCase& planned : plan.cases) {
    const BenchmarkCase& what = planned.what;
    if (!what.unsupported.empty() || what.priority != 1 || !what.quick || what.scope != "each_device") continue;
    const std::string family = what.id.substr(0, what.id.find('.'));
    const auto [found, added] = chosen.emplace(family, &planned);
    if (added) families.push_back(family);
    if (planned.what.iteration_seconds > found->second->what.iteration_seconds) found->second = &planned;
  }
  std::vector<PlannedCase> cases;
  for (const std::string& family : families) {
    const PlannedCase& planned = *chosen[family];
    if (planned.estimated_seconds > seconds) continue;
    seconds -= planned.estimated_seconds;
    cases.push_back(planned);
  }
  return cases;
}

Answer look(const MeasureSettings& settings, const std::filesystem::path& system_root, const Catalog& catalog) {
  const Clock::time_point begun = Clock::now();
  Answer answer;
  Document& document = answer.document;
  document.system = probe_system({system_root, false, std::nullopt});
  const std::vector<Finding> cpu = watch_cpus(system_root, document.system);
  const Worker worker =
      choose_worker({settings.device, settings.worker, "", worker_options(settings), describe_seconds});
  take_description(document.system, worker.description, false);
  for (const nlohmann::json& device : document.system["devices"]) {
    document.is_virtual =
        document.is_virtual || (device.is_object() && device.value("virtual", nlohmann::json()) == true);
  }
  document.run["worker"] = {{"kind", worker.kind}, {"why", worker.why}};
  document.findings = system_findings(document.system);
  document.platform = probe_platform({system_root, false, std::nullopt});
  for (Finding& finding : platform_findings(document.platform, document.system)) {
    document.findings.push_back(std::move(finding));
  }
  document.findings.insert(document.findings.end(), cpu.begin(), cpu.end());
  load(worker, plan_of(worker, settings), document);
  for (Finding& finding : load_findings(document)) document.findings.push_back(std::move(finding));
  for (Finding& finding : measured_findings(document, catalog)) document.findings.push_back(std::move(finding));
  drop_doubles(document.findings);
  for (Finding& finding : document.findings) add_cause(finding);
  raise_what_spoils(document.findings);
  answer.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return answer;
}

}  // namespace claimcheck::preflight

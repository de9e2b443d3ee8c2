#include "harness/run/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "harness/cli/terminal.h"
#include "harness/cost/cost.h"
#include "harness/evidence/derived.h"
#include "harness/judge/findings.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/result/document.h"
#include "harness/run/journal.h"
#include "harness/run/measure.h"
#include "harness/run/output.h"
#include "harness/run/prepare.h"
#include "harness/run/price.h"
#include "harness/run/progress.h"
#include "harness/run/recorder.h"
#include "harness/run/signals.h"
#include "harness/run/worker.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;

std::string plan_sentence(const PreparedRun& prepared) {
  const std::string price =
      cost_of(prepared.document.platform["price"], prepared.rest.estimated_seconds, prepared.devices);
  const std::size_t count = prepared.rest.cases.size();
  return fmt::format("{} benchmark{}, about {}{}", count, count == 1 ? "" : "s",
                     duration_text(prepared.rest.estimated_seconds), price.empty() ? "" : ", about " + price);
}

ExitCode print_dry_run(const PreparedRun& prepared) {
  if (prepared.settings.json) {
    nlohmann::json plan = run_record(prepared)["plan"];
    plan["profile"] = prepared.settings.measure.profile;
    plan["repetitions"] = prepared.plan.repetitions;
    plan["min_time_seconds"] = prepared.plan.min_time_seconds;
    plan["price"] = prepared.document.platform["price"];
    plan["cost"] = cost_of(prepared.document.platform["price"], prepared.plan.estimated_seconds, prepared.devices);
    fmt::print("{}\n", plan.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return ExitCode::ok;
  }
  fmt::print("plan      {}\n", plan_sentence(prepared));
  fmt::print("          profile {}: {} repetitions of at least {:.2g} s each\n", prepared.settings.measure.profile,
             prepared.plan.repetitions, prepared.plan.min_time_seconds);
  for (const PlannedCase& planned : prepared.plan.cases) {
    fmt::print("  {:<38} {:>7}  {}\n", sanitised_text(planned.what.id), duration_text(planned.estimated_seconds),
               sanitised_text(planned.what.unsupported.empty() ? planned.what.metric
                                                               : "cannot run here: " + planned.what.unsupported));
  }
  if (!prepared.plan.left_out.empty()) fmt::print("left out\n");
  for (const auto& [id, reason] : prepared.plan.left_out) {
    fmt::print("  {:<38} {}\n", sanitised_text(id), sanitised_text(reason));
  }
  return ExitCode::ok;
}

// The storage benchmarks' folder; it is ours, so a file left by a worker that was killed goes with it.
class Scratch {
 public:
  Scratch(const MeasureSettings& settings, const fs::path& out) {
    // Inside OUT, which the journal locks, one name serves: what a killed run left there goes with the next one's.
    path_ = settings.scratch.empty() ? out / "claimcheck-scratch"
                                     : fs::path(settings.scratch) / fmt::format("claimcheck-scratch-{}", getpid());
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) throw UserError(fmt::format("{}: cannot make this directory: {}", path_.string(), error.message()));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

MeasureOptions measure_options(const PreparedRun& prepared) {
  MeasureOptions options;
  options.command = prepared.worker.command;
  options.limits.of_case = prepared.settings.measure.case_limit_seconds;
  options.limits.silence = prepared.settings.measure.silence_seconds;
  if (prepared.budget_seconds) {
    options.limits.budget =
        std::max(0.0, *prepared.budget_seconds - prepared.measured_seconds - prepared.seconds_so_far());
  }
  options.look_again = [&prepared](double seconds) { return describe_again(prepared.worker, seconds); };
  return options;
}

// True when the disk took everything.
bool measure_rest(PreparedRun& prepared, const OutputDirectory& out, const SignalGuard& signals) {
  Document& document = prepared.document;
  const bool terminal = isatty(STDERR_FILENO) != 0;
  Progress progress(prepared.rest.cases.size(), terminal);
  MeasureResult result;
  std::string trouble;
  try {
    const bool keep_identifiers = prepared.settings.keep_identifiers;
    Journal journal = prepared.settings.resume ? Journal(out.journal()) : Journal(out.journal(), prepared.header);
    remove_leftovers(out);
    const Scratch scratch(prepared.settings.measure, out.path);
    Recorder recorder(journal, document, progress, signals, keep_identifiers);
    // Of a resumed run: what the machine has now, which may be less than it had.
    if (prepared.settings.resume) recorder.described(prepared.worker.description);
    MeasureOptions options = measure_options(prepared);
    options.command.push_back("--scratch=" + scratch.path().string());
    options.log = out.worker_log();
    result = measure(prepared.rest, options, recorder);
    prepared.plan.left_out.insert(prepared.plan.left_out.end(), result.left_out.begin(), result.left_out.end());
    journal.append({{"kind", "done"}, {"status", result.interrupted_by == 0 ? "complete" : "partial"}});
  } catch (const JournalError& error) {
    trouble = error.what();
  }
  progress.clear();
  document.run = run_record(prepared);
  document.run["ended"] = utc_now();
  document.run["measuring_seconds"] = prepared.measured_seconds + result.seconds;
  const bool any = std::any_of(document.measurements.begin(), document.measurements.end(),
                               [](const Measurement& measurement) { return measurement.value.has_value(); });
  std::string reason;
  if (!trouble.empty()) {
    reason = "measuring stopped: " + trouble;
  } else if (result.interrupted_by != 0) {
    reason = fmt::format("ended early by SIG{}{}", sigabbrev_np(result.interrupted_by),
                         result.interrupted_by == SIGINT ? " (Ctrl-C)" : "");
  } else if (!result.left_out.empty()) {
    reason = fmt::format("{} benchmarks did not fit the budget", result.left_out.size());
  }
  document.run["status"] = !any ? "failed" : reason.empty() ? "complete" : "partial";
  document.run["reason"] = !any && reason.empty() ? "no benchmark gave a value" : reason;
  return trouble.empty();
}

void judge_and_price(PreparedRun& prepared, const Catalog& catalog) {
  Document& document = prepared.document;
  derive(document, catalog);
  document.verdicts = all_verdicts(document, prepared.claims, catalog);
  replace_measured_findings(document, measured_findings(document, catalog));
  if (document.is_virtual) return;  // a virtual figure is never a price
  if (!useful_rate(document)) return;
  constexpr std::size_t rows_of_a_run = 10;  // `claimcheck cost` shows more
  prepared.cost.top = rows_of_a_run;
  document.cost = cost_json({{"this machine", &document}}, catalog, prepared.cost);
}

// Every benchmark of a run was asked for: one that broke is not an answer. "Cannot run here" and "unstable" are.
bool broke(const Document& document) {
  return std::any_of(document.measurements.begin(), document.measurements.end(), [](const Measurement& measurement) {
    return measurement.status != Outcome::ok && measurement.status != Outcome::unstable &&
           measurement.status != Outcome::unsupported;
  });
}

// Whether it arrived, main() looks at.
void answer(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Beside the result, which has everything it shows: a disk that has no room for it costs nothing. Empty when not
// written.
std::string save_page(const Document& document, const Catalog& catalog, const OutputDirectory& out) {
  ReportOptions options;
  options.catalog = &catalog;
  try {
    write_atomically(out.page(), render_html(document, options));
    return out.page().string();
  } catch (const UserError& error) {
    Progress::write(
        fmt::format("claimcheck: {}; `claimcheck report --format html` makes the page again\n", error.what()));
    return {};
  }
}

// What the plan said before, as it came.
std::string paid_line(const PreparedRun& prepared) {
  const Document& document = prepared.document;
  const double seconds = document.run.value("measuring_seconds", 0.0);
  const std::string paid = cost_of(document.platform.value("price", nlohmann::json()), seconds, prepared.devices);
  if (paid.empty()) return {};
  if (document.is_virtual) {
    return fmt::format("paid      nothing for a virtual machine; at this price {} of measuring would be about {}\n",
                       duration_text(seconds), paid);
  }
  return fmt::format("paid      about {} for {} of measuring\n", paid, duration_text(seconds));
}

ExitCode finish(PreparedRun& prepared, const Catalog& catalog, const OutputDirectory& out, bool saved) {
  Document& document = prepared.document;
  judge_and_price(prepared, catalog);
  ExitCode code = exit_code(document.verdicts, document, prepared.settings.judge.strict);
  if (code == ExitCode::ok && (document.run["status"] != "complete" || broke(document))) code = ExitCode::incomplete;
  std::string trouble;
  try {
    write_atomically(out.result(),
                     to_json(document).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } catch (const UserError& error) {
    trouble = error.what();
  }
  const std::string page = trouble.empty() ? save_page(document, catalog, out) : "";
  if (!saved || !trouble.empty()) code = ExitCode::incomplete;
  if (prepared.settings.json) {
    answer(to_json(document).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    ReportOptions options;
    options.colour = cli::takes_colour(STDOUT_FILENO);
    answer(render_text(document, options));
    answer(paid_line(prepared));
    if (!page.empty()) answer(fmt::format("report    {}\n", page));
    answer(fmt::format("result    {}  exit {}\n", trouble.empty() ? out.result().string() : "not saved",
                       static_cast<int>(code)));
  }
  if (!saved) Progress::write(fmt::format("claimcheck: {}\n", document.run["reason"].get<std::string>()));
  if (!trouble.empty()) {
    Progress::write(fmt::format("claimcheck: {}; the result is on standard output only\n", trouble));
  }
  return code;
}

}  // namespace

ExitCode run(const RunSettings& settings, const Catalog& catalog) {
  std::signal(SIGPIPE, SIG_IGN);  // who looked at the output went away; what is measured goes to OUT
  OutputDirectory out;
  if (settings.resume) out = open_existing(settings.out);
  PreparedRun prepared =
      settings.resume ? prepare_resumed(settings, catalog, out.journal()) : prepare_new(settings, catalog);
  prepared.devices = std::max<int>(1, static_cast<int>(prepared.document.system["devices"].size()));
  if (settings.dry_run) return print_dry_run(prepared);
  if (!settings.resume) {
    const nlohmann::json& instance = prepared.document.platform["instance"];
    out = open_new(settings.out.empty()
                       ? default_output(instance.is_string() ? instance.get<std::string>() : prepared.worker.kind)
                       : settings.out);
  }
  if (!settings.json) {
    Progress::write(fmt::format("measuring {}{}\n", plan_sentence(prepared),
                                settings.resume ? " (the rest of a resumed run)" : ""));
  }
  const SignalGuard signals;
  const bool saved = measure_rest(prepared, out, signals);
  return finish(prepared, catalog, out, saved);
}

}  // namespace claimcheck

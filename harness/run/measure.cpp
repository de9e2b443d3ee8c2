#include "harness/run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <stdexcept>

#include "harness/error.h"
#include "harness/run/event.h"
#include "harness/run/worker.h"
#include "harness/run/worker_process.h"

namespace claimcheck {
namespace {

using Clock = std::chrono::steady_clock;

// A spot machine is gone two seconds after it said so, and the result is still to be written.
constexpr double interrupted_grace = 0.4;
constexpr std::size_t log_most_bytes = 1u << 20;
constexpr int most_fruitless_starts = 2;
constexpr double longest_look = 60;
constexpr std::size_t most_metrics = 256;  // of one case

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Follows one plan over any number of workers.
class Measuring {
 public:
  Measuring(const Plan& plan, const MeasureOptions& options, MeasureObserver& observer)
      : plan_(plan), options_(options), observer_(observer), remaining_(plan.cases.begin(), plan.cases.end()) {}

  MeasureResult all();

 private:
  enum class Ended { worker_gone, case_hung, silent, idle, budget_spent, interrupted, next_does_not_fit };

  void leave_out_what_does_not_fit();
  std::string budget_was_used_up() const;
  void leave_out_all(const std::string& reason);
  std::vector<std::string> worker_command() const;
  void one_worker();
  Ended follow(WorkerProcess& process, ExitState& state);
  std::optional<Ended> overdue() const;
  void settle(Ended ended, const ExitState& state);
  void settle_case(Ended ended, const ExitState& state);
  void nothing_begun(const std::string& reason);
  void look_again();
  void fail_rest(const std::string& reason, const std::set<std::string>& spared = {});
  void on_line(std::string_view line);
  void on_event(const nlohmann::json& event);
  void on_measurement(const nlohmann::json& event);
  void close_case(Outcome outcome, const std::string& reason);
  void finish_case();
  void log(std::string_view line);
  void hear(std::string_view line);
  double time_left() const;
  double estimate_left() const;

  const Plan& plan_;
  const MeasureOptions& options_;
  MeasureObserver& observer_;
  std::deque<PlannedCase> remaining_;  // the one being measured included
  MeasureResult result_;
  Clock::time_point start_ = Clock::now();

  // Of the case being measured.
  std::optional<PlannedCase> current_;
  std::string phase_;
  std::set<std::string> delivered_;  // its metrics
  bool malformed_ = false;           // something of it could not be read, and that was said
  Clock::time_point case_start_;

  // Of the worker that runs.
  Clock::time_point last_event_;
  Clock::time_point idle_since_;  // its start, or the end of its last case
  bool virtual_ = false;          // the worker measures no hardware
  bool next_does_not_fit_ = false;
  std::string last_words_;  // on stderr
  bool said_ = false;       // they are the worker's own, not its launcher's
  std::ofstream log_;
  std::size_t logged_ = 0;
  int fruitless_starts_ = 0;
  bool broke_ = false;  // the last worker did: what it measured with may be gone
};

double Measuring::time_left() const { return options_.limits.budget.value_or(1e9) * begin_slack - since(start_); }

double Measuring::estimate_left() const {
  double total = 0;
  for (const PlannedCase& planned : remaining_) total += planned.estimated_seconds;
  return total;
}

std::string Measuring::budget_was_used_up() const {
  return fmt::format("the budget of {} was used up before its turn", duration_text(options_.limits.budget.value_or(0)));
}

void Measuring::leave_out_what_does_not_fit() {
  std::deque<PlannedCase> fitting;
  double left = time_left();
  for (PlannedCase& planned : remaining_) {
    if (planned.estimated_seconds <= std::max(left, 0.0)) {
      left -= planned.estimated_seconds;
      fitting.push_back(std::move(planned));
    } else {
      result_.left_out.emplace_back(planned.what.id, budget_was_used_up());
    }
  }
  remaining_ = std::move(fitting);
}

void Measuring::leave_out_all(const std::string& reason) {
  for (const PlannedCase& planned : remaining_) result_.left_out.emplace_back(planned.what.id, reason);
  remaining_.clear();
}

std::vector<std::string> Measuring::worker_command() const {
  std::vector<std::string> command = options_.command;
  std::string ids;
  for (const PlannedCase& planned : remaining_) ids += (ids.empty() ? "" : ",") + planned.what.id;
  command.push_back("--only=" + ids);
  command.push_back(fmt::format("--benchmark_min_time={}", plan_.min_time_seconds));
  command.push_back(fmt::format("--benchmark_repetitions={}", plan_.repetitions));
  return command;
}

void Measuring::log(std::string_view line) {
  if (logged_ > log_most_bytes || options_.log.empty()) return;
  logged_ += line.size() + 1;
  if (!log_.is_open()) log_.open(options_.log, std::ios::app | std::ios::binary);
  log_ << line << '\n' << std::flush;
}

void Measuring::on_line(std::string_view line) {
  const std::optional<nlohmann::json> event = parse_event(line);
  if (event) {
    on_event(*event);
  } else {
    log(line);
  }
}

void Measuring::on_event(const nlohmann::json& event) {
  last_event_ = Clock::now();
  const std::string kind = event["event"];
  const std::string id = text_of(event, "id");
  if (kind == "hello") virtual_ = flag_of(event, "virtual");
  if (kind == "begin") {
    const auto found = std::find_if(remaining_.begin(), remaining_.end(),
                                    [&](const PlannedCase& planned) { return planned.what.id == id; });
    if (found == remaining_.end()) return;
    if (found->estimated_seconds > std::max(time_left(), 0.0)) {
      next_does_not_fit_ = true;
      return;
    }
    current_ = *found;
    phase_ = "start";
    delivered_.clear();
    malformed_ = false;
    case_start_ = Clock::now();
    observer_.begin(id, estimate_left());
  } else if (!current_ || id != current_->what.id) {
    if (kind == "measurement") on_measurement(event);  // carries its id inside
  } else if (kind == "heartbeat") {
    if (const std::string phase = text_of(event, "phase"); !phase.empty()) phase_ = phase.substr(0, 40);
  } else if (kind == "end") {
    finish_case();
  }
}

void Measuring::on_measurement(const nlohmann::json& event) {
  if (!current_) return;
  try {
    const Measurement measurement = measurement_from_event(event);
    if (measurement.id != current_->what.id || delivered_.size() >= most_metrics) return;
    if (!delivered_.insert(measurement.metric).second) return;
    observer_.measured(measurement);
  } catch (const std::exception& error) {
    if (dynamic_cast<const std::invalid_argument*>(&error) == nullptr &&
        dynamic_cast<const nlohmann::json::exception*>(&error) == nullptr) {
      throw;
    }
    if (malformed_) return;  // told once for each case, however much of it comes
    malformed_ = true;
    observer_.found(
        {"worker.malformed_event", "warning",
         fmt::format("The worker reported {} in a form that cannot be read: {}.", current_->what.id, error.what()),
         "Report it with the worker log beside the result.", nlohmann::json::object()});
  }
}

// Gives every metric of the case that was not delivered the outcome, then the case is done.
void Measuring::close_case(Outcome outcome, const std::string& reason) {
  std::vector<std::pair<std::string, std::string>> metrics{{current_->what.metric, current_->what.unit}};
  metrics.insert(metrics.end(), current_->what.also.begin(), current_->what.also.end());
  for (const auto& [metric, unit] : metrics) {
    if (!delivered_.insert(metric).second) continue;
    Measurement measurement;
    measurement.id = current_->what.id;
    measurement.metric = metric;
    measurement.unit = unit;
    measurement.status = outcome;
    measurement.reason = reason;
    measurement.conditions["method"] = current_->what.method;
    measurement.is_virtual = virtual_;
    if (!last_words_.empty()) measurement.evidence["worker_stderr"] = last_words_;
    observer_.measured(measurement);
  }
  finish_case();
}

void Measuring::finish_case() {
  const std::string id = current_->what.id;
  const std::string metric = current_->what.metric;
  if (delivered_.count(metric) == 0) {
    close_case(Outcome::failed, "the worker ended this benchmark without a result");
    return;
  }
  observer_.finished(id, since(case_start_));
  remaining_.erase(std::find_if(remaining_.begin(), remaining_.end(),
                                [&](const PlannedCase& planned) { return planned.what.id == id; }));
  current_.reset();
  idle_since_ = Clock::now();
  fruitless_starts_ = 0;
}

// The last line on stderr, less the rulers of launchers; what the worker says of itself counts before what they say.
void Measuring::hear(std::string_view line) {
  if (line.find_first_not_of("-=* \t") == std::string_view::npos) return;
  const bool says = line.starts_with(worker_mark);
  if (said_ && !says) return;
  said_ = says;
  last_words_ = line.substr(says ? worker_mark.size() : 0, 400);
}

Measuring::Ended Measuring::follow(WorkerProcess& process, ExitState& state) {
  const auto out = [this](std::string_view line) { on_line(line); };
  const auto err = [this](std::string_view line) {
    hear(line);
    log(line);
  };
  const auto stop = [&](Ended why, double grace_seconds) {
    state = process.stop(std::chrono::milliseconds(static_cast<int>(1000 * grace_seconds)), out, err);
    return why;
  };
  for (;;) {
    if (const std::optional<ExitState> ended = process.pump(std::chrono::milliseconds(100), out, err)) {
      state = *ended;
      return Ended::worker_gone;
    }
    observer_.tick();
    if (observer_.interrupted() != 0) return stop(Ended::interrupted, interrupted_grace);
    if (next_does_not_fit_) return stop(Ended::next_does_not_fit, stop_seconds(options_.limits));
    if (const std::optional<Ended> why = overdue()) return stop(*why, stop_seconds(options_.limits));
  }
}

// Which of its deadlines the worker missed, if any.
std::optional<Measuring::Ended> Measuring::overdue() const {
  const std::optional<double> end = hard_end(options_.limits);
  if (end && since(start_) > *end) return Ended::budget_spent;
  if (!current_) {
    if (since(idle_since_) > between_limit) return Ended::idle;
    return std::nullopt;
  }
  if (since(case_start_) > case_limit(options_.limits, *current_)) return Ended::case_hung;
  if (since(last_event_) > silence_limit(options_.limits, current_->what)) return Ended::silent;
  return std::nullopt;
}

void Measuring::settle_case(Ended ended, const ExitState& state) {
  const std::string stopped =
      fmt::format("stopped after {} in phase \"{}\"", duration_text(since(case_start_)), phase_);
  const std::string stuck = state.stuck ? "; the worker " + describe(state) : "";
  switch (ended) {
    case Ended::budget_spent:
      return close_case(Outcome::timed_out, stopped + ": the budget was used up" + stuck);
    case Ended::case_hung:
      return close_case(Outcome::timed_out, fmt::format("{}; about {} were expected{}", stopped,
                                                        duration_text(current_->estimated_seconds), stuck));
    case Ended::silent:
      return close_case(Outcome::timed_out,
                        fmt::format("{}: no sign of life for {}{}", stopped, duration_text(since(last_event_)), stuck));
    default:
      return close_case(Outcome::crashed, fmt::format("the worker {} in phase \"{}\"", describe(state), phase_));
  }
}

// Gives all that is left, less what is spared, the outcome `failed`.
void Measuring::fail_rest(const std::string& reason, const std::set<std::string>& spared) {
  const std::deque<PlannedCase> all = remaining_;
  for (const PlannedCase& planned : all) {
    if (spared.count(planned.what.id) > 0) continue;
    current_ = planned;
    phase_ = "start";
    delivered_.clear();
    case_start_ = Clock::now();
    const int starts = fruitless_starts_;
    close_case(Outcome::failed, reason);
    fruitless_starts_ = starts;
  }
}

// Once may be chance; twice means that no worker of this kind gets further.
void Measuring::nothing_begun(const std::string& reason) {
  if (++fruitless_starts_ >= most_fruitless_starts) fail_rest(reason);
}

void Measuring::settle(Ended ended, const ExitState& state) {
  broke_ = ended != Ended::next_does_not_fit && (ended != Ended::worker_gone || !state.clean());
  if (ended == Ended::interrupted) {
    result_.interrupted_by = observer_.interrupted();
    leave_out_all(fmt::format("the run was ended early by SIG{}", sigabbrev_np(result_.interrupted_by)));
    current_.reset();
  } else if (current_) {
    settle_case(ended, state);
  } else if (ended == Ended::worker_gone && !remaining_.empty()) {
    nothing_begun(
        fmt::format("the worker {} before it began{}", describe(state), last_words_.empty() ? "" : ": " + last_words_));
  } else if (ended == Ended::idle) {
    nothing_begun(fmt::format("the worker began nothing for {}{}", duration_text(between_limit),
                              state.stuck ? " and " + describe(state) : ""));
  }
  if (ended == Ended::budget_spent) leave_out_all(budget_was_used_up());
}

// After a worker broke: which devices are left, and what can be measured with them.
void Measuring::look_again() {
  broke_ = false;
  if (!options_.look_again) return;
  double seconds = longest_look;
  if (const std::optional<double> end = hard_end(options_.limits)) seconds = std::min(seconds, *end - since(start_));
  if (seconds <= 0) return;  // what is left does not fit the budget
  std::set<std::string> possible;
  try {
    const nlohmann::json description = options_.look_again(seconds);
    for (const BenchmarkCase& what : cases_from_description(description)) possible.insert(what.id);
    observer_.described(description);
  } catch (const UserError& error) {
    broke_ = true;
    return nothing_begun(fmt::format("nothing more can be measured here: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    broke_ = true;
    return nothing_begun(fmt::format("the worker's description cannot be read any more: {}", error.what()));
  }
  fail_rest("cannot be measured with the devices that are left", possible);
}

void Measuring::one_worker() {
  last_event_ = idle_since_ = Clock::now();
  next_does_not_fit_ = false;
  last_words_.clear();
  said_ = false;
  log_.close();
  logged_ = 0;
  WorkerProcess process(worker_command());
  ExitState state;
  const Ended ended = follow(process, state);
  settle(ended, state);
}

MeasureResult Measuring::all() {
  while (!remaining_.empty() && observer_.interrupted() == 0) {
    if (options_.limits.budget) leave_out_what_does_not_fit();
    if (broke_ && !remaining_.empty()) {
      look_again();
    } else if (!remaining_.empty()) {
      one_worker();
    }
  }
  if (!remaining_.empty()) {
    result_.interrupted_by = observer_.interrupted();
    leave_out_all(fmt::format("the run was ended early by SIG{}", sigabbrev_np(result_.interrupted_by)));
  }
  result_.seconds = since(start_);
  return result_;
}

}  // namespace

MeasureResult measure(const Plan& plan, const MeasureOptions& options, MeasureObserver& observer) {
  return Measuring(plan, options, observer).all();
}

}  // namespace claimcheck

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
#include "harness/run/worker_process.h"

namespace claimcheck {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double budget_slack = 1.10;            // the plan never exceeds the budget by more than 10 %
constexpr double begin_slack = 1.05;             // a case is begun when its estimate ends before budget x this
constexpr double start_limit_seconds = 60;       // of a worker until its first event
constexpr double case_limit_floor_seconds = 30;  // silence shorter than this is never a hang
constexpr double case_limit_estimates = 5;       // times the estimate
constexpr std::chrono::milliseconds stop_grace{1500};
constexpr std::size_t log_most_bytes = 1u << 20;
constexpr int most_fruitless_starts = 2;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Follows one plan over any number of workers.
class Measuring {
 public:
  Measuring(const Plan& plan, const MeasureOptions& options, MeasureObserver& observer)
      : plan_(plan), options_(options), observer_(observer), remaining_(plan.cases.begin(), plan.cases.end()) {}

  MeasureResult all();

 private:
  enum class Ended { worker_gone, case_hung, budget_spent, interrupted, next_does_not_fit };

  void leave_out_what_does_not_fit();
  void leave_out_all(const std::string& reason);
  std::vector<std::string> worker_command() const;
  void one_worker();
  Ended follow(WorkerProcess& process, ExitState& state);
  void settle(Ended ended, const ExitState& state);
  void on_line(std::string_view line);
  void on_event(const nlohmann::json& event);
  void on_measurement(const nlohmann::json& event);
  void close_case(Outcome outcome, const std::string& reason);
  void finish_case();
  void log(std::string_view line);
  double case_limit() const;
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
  Clock::time_point case_start_;

  // Of the worker that runs.
  Clock::time_point worker_start_;
  bool worker_spoke_ = false;
  bool virtual_ = false;  // the worker measures no hardware
  bool next_does_not_fit_ = false;
  std::string last_words_;  // last line on stderr
  std::size_t logged_ = 0;
  int fruitless_starts_ = 0;
};

double Measuring::time_left() const { return options_.budget_seconds.value_or(1e9) * begin_slack - since(start_); }

double Measuring::estimate_left() const {
  double total = 0;
  for (const PlannedCase& planned : remaining_) total += planned.estimated_seconds;
  return total;
}

double Measuring::case_limit() const {
  double limit = options_.case_limit_seconds.value_or(
      std::max(case_limit_floor_seconds, case_limit_estimates * current_->estimated_seconds));
  if (options_.budget_seconds) {
    const double budget_end =
        *options_.budget_seconds * budget_slack - std::chrono::duration<double>(stop_grace).count();
    limit = std::min(limit, budget_end - std::chrono::duration<double>(case_start_ - start_).count());
  }
  return limit;
}

void Measuring::leave_out_what_does_not_fit() {
  std::deque<PlannedCase> fitting;
  double left = time_left();
  for (PlannedCase& planned : remaining_) {
    if (planned.estimated_seconds <= std::max(left, 0.0)) {
      left -= planned.estimated_seconds;
      fitting.push_back(std::move(planned));
    } else {
      result_.left_out.emplace_back(planned.what.id, fmt::format("the budget of {} was used up before its turn",
                                                                 duration_text(options_.budget_seconds.value_or(0))));
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
  std::ofstream(options_.log, std::ios::app | std::ios::binary) << line << '\n';
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
  worker_spoke_ = true;
  const std::string kind = event["event"];
  const std::string id = event.value("id", std::string());
  if (kind == "hello") virtual_ = event.value("virtual", false);
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
    case_start_ = Clock::now();
    observer_.begin(id, estimate_left());
  } else if (!current_ || id != current_->what.id) {
    if (kind == "measurement") on_measurement(event);  // carries its id inside
  } else if (kind == "heartbeat") {
    phase_ = event.value("phase", phase_);
  } else if (kind == "end") {
    finish_case();
  }
}

void Measuring::on_measurement(const nlohmann::json& event) {
  if (!current_) return;
  try {
    const Measurement measurement = measurement_from_event(event);
    if (measurement.id != current_->what.id || !delivered_.insert(measurement.metric).second) return;
    observer_.measured(measurement);
  } catch (const std::exception& error) {
    if (dynamic_cast<const std::invalid_argument*>(&error) == nullptr &&
        dynamic_cast<const nlohmann::json::exception*>(&error) == nullptr) {
      throw;
    }
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
  fruitless_starts_ = 0;
}

Measuring::Ended Measuring::follow(WorkerProcess& process, ExitState& state) {
  const auto out = [this](std::string_view line) { on_line(line); };
  const auto err = [this](std::string_view line) {
    if (!line.empty()) last_words_ = line.substr(0, 400);
    log(line);
  };
  const auto stop = [&](Ended why) {
    state = process.stop(stop_grace, out, err);
    return why;
  };
  for (;;) {
    if (const std::optional<ExitState> ended = process.pump(std::chrono::milliseconds(100), out, err)) {
      state = *ended;
      return Ended::worker_gone;
    }
    observer_.tick();
    if (observer_.interrupted() != 0) return stop(Ended::interrupted);
    if (next_does_not_fit_) return stop(Ended::next_does_not_fit);
    if (current_ && since(case_start_) > case_limit()) {
      return stop(time_left() <= 0 ? Ended::budget_spent : Ended::case_hung);
    }
    if (!worker_spoke_ && since(worker_start_) > start_limit_seconds) return stop(Ended::case_hung);
  }
}

void Measuring::settle(Ended ended, const ExitState& state) {
  if (ended == Ended::interrupted) {
    result_.interrupted_by = observer_.interrupted();
    leave_out_all(fmt::format("the run was ended early by SIG{}", sigabbrev_np(result_.interrupted_by)));
    current_.reset();
  } else if (current_) {
    switch (ended) {
      case Ended::budget_spent:
        close_case(Outcome::timed_out, fmt::format("stopped after {} in phase \"{}\": the budget was used up",
                                                   duration_text(since(case_start_)), phase_));
        break;
      case Ended::case_hung:
        close_case(Outcome::timed_out,
                   fmt::format("stopped after {} in phase \"{}\"; about {} were expected",
                               duration_text(since(case_start_)), phase_, duration_text(current_->estimated_seconds)));
        break;
      default:
        close_case(Outcome::crashed, fmt::format("the worker {} in phase \"{}\"", describe(state), phase_));
    }
  } else if (ended != Ended::next_does_not_fit && !remaining_.empty() && ++fruitless_starts_ >= most_fruitless_starts) {
    // Nothing was begun, twice: no worker of this kind gets further.
    while (!remaining_.empty()) {
      current_ = remaining_.front();
      phase_ = "start";
      delivered_.clear();
      case_start_ = Clock::now();
      close_case(Outcome::failed,
                 ended == Ended::case_hung
                     ? fmt::format("the worker said nothing for {}", duration_text(start_limit_seconds))
                     : fmt::format("the worker {} before it began{}", describe(state),
                                   last_words_.empty() ? "" : ": " + last_words_));
    }
  }
}

void Measuring::one_worker() {
  worker_start_ = Clock::now();
  worker_spoke_ = false;
  next_does_not_fit_ = false;
  last_words_.clear();
  logged_ = 0;
  WorkerProcess process(worker_command());
  ExitState state;
  const Ended ended = follow(process, state);
  settle(ended, state);
}

MeasureResult Measuring::all() {
  while (!remaining_.empty() && observer_.interrupted() == 0) {
    if (options_.budget_seconds) leave_out_what_does_not_fit();
    if (!remaining_.empty()) one_worker();
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

#include "bench/worker/case_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <deque>
#include <stdexcept>

#include "bench/facts_json.h"
#include "bench/worker/agreement.h"
#include "bench/worker/clock_check.h"
#include "bench/worker/describe.h"
#include "bench/worker/process_values.h"

namespace claimcheck::bench {

namespace {

// Makes happen what a test asked for; returns for those that happen elsewhere.
void suffer(Fault::Kind kind) {
  if (kind == Fault::Kind::crash) {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (kind == Fault::Kind::exit) _exit(3);
  if (kind == Fault::Kind::hang)
    for (;;) pause();
}

kernels::Error made_failure() {
  return kernels::Error({.outcome = kernels::Outcome::failed,
                         .library = "claimcheck",
                         .code = {},
                         .text = "a failure that a test asked for",
                         .remedy = {}});
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

template <class Work>
void CaseRun::guarded(Work work) {
  try {
    work();
  } catch (const kernels::PeersFailed& peers) {
    failure_ = agreed_failure(session_.world, peers.reports());
  } catch (...) {
    failure_ = agree(session_.world, current_failure());
  }
  leave_group_after_failure();
}

template <class Work>
void CaseRun::phase(Work work) {
  bool agreed = true;
  guarded([&] {
    work();
    agreed = false;
  });
  if (!agreed) failure_ = agree(session_.world, failure_);
  leave_group_after_failure();
}

// Where one process gave its group up, the others have no use for theirs.
void CaseRun::leave_group_after_failure() {
  if (failure_ && session_.world.processes() > 1) session_.group.reset();
}

bool CaseRun::fault(Fault::Kind kind) const {
  const std::optional<Fault>& fault = session_.options.fault;
  return fault && fault->kind == kind && fault->id == id() &&
         fault->process.value_or(session_.world.process()) == session_.world.process();
}

void CaseRun::call(benchmark::State& state) {
  if (!begun_) begin();
  if (!failure_) guarded([&] { measure(state); });
  // Google Benchmark carries a text only; outcome and reason stay here.
  if (failure_) state.SkipWithError(failure_->reason.c_str());
}

void CaseRun::begin() {
  begun_ = true;
  session_.events.begin(id());
  failure_ = listed_.failure;
  if (!failure_) phase([&] { prepare(); });
}

void CaseRun::prepare() {
  Events& events = session_.events;
  events.heartbeat(id(), "prepare");
  if (session_.kept_by != listed_.benchmark) session_.kept.reset();
  session_.kept_by = listed_.benchmark;
  const Setting::Alive alive = [&events, id = id()] { events.heartbeat(id, "measure"); };
  Setting setting{session_.platform, session_.world, session_.options.benchmarks, listed_.chosen, session_.group,
                  &session_.kept,    alive};
  if (fault(Fault::Kind::fail)) throw made_failure();
  prepared_ = listed_.benchmark->prepare(setting);
  timed_iteration();
  events.heartbeat(id(), "verify");
  if (fault(Fault::Kind::wrong)) spoil();
  prepared_->verify();
  // Who found a wrong result comes to no further collective: the others learn of it here, not at a deadline.
  session_.world.barrier();
  if (prepared_->warm_up) {
    events.heartbeat(id(), "warm_up");
    warm_up();
    if (!is_virtual(session_.platform)) check_clock();
  }
  events.heartbeat(id(), "measure");
  for (const Fault::Kind kind : {Fault::Kind::crash, Fault::Kind::exit, Fault::Kind::hang})
    if (fault(kind)) suffer(kind);
  start_watches();
}

void CaseRun::spoil() {
  if (!prepared_->spoil) throw std::logic_error("benchmark " + listed_.benchmark->id + " has no spoil()");
  prepared_->spoil();
}

Iteration CaseRun::timed_iteration() {
  Iteration iteration = prepared_->run();
  own_seconds_ = iteration.idle ? 0 : iteration.seconds;
  // The slowest process counts, and all take the same number of iterations.
  iteration.seconds = session_.world.max(own_seconds_);
  if (!std::isfinite(own_seconds_) || own_seconds_ < 0 || iteration.seconds <= 0)
    throw kernels::Error({.outcome = kernels::Outcome::failed,
                          .library = "claimcheck",
                          .code = {},
                          .text = fmt::format("the device's timer gave {} s for one iteration", own_seconds_),
                          .remedy = {}});
  return iteration;
}

// Until the last three iterations are within 2 % of each other, or twice the minimum time is over.
void CaseRun::warm_up() {
  constexpr std::size_t steady_count = 3;
  const double longest = 2 * session_.options.benchmarks.min_time_seconds;
  std::deque<double> last;
  double spent = 0;
  for (;;) {
    const Iteration iteration = timed_iteration();
    const double seconds = iteration.seconds;
    session_.events.heartbeat(id(), "warm_up");
    spent += session_.world.max(iteration.whole_seconds());
    last.push_back(seconds);
    if (last.size() < steady_count) continue;
    if (last.size() > steady_count) last.pop_front();
    const auto [least, most] = std::minmax_element(last.begin(), last.end());
    if (*most <= 1.02 * *least || spent >= longest) return;
  }
}

// Several tries, since a busy host makes the clocks differ as well; a wrong clock always does.
void CaseRun::check_clock() {
  constexpr double enough_seconds = 20e-3;
  std::optional<std::string> disagreement;
  for (int attempt = 0; attempt < 5; ++attempt) {
    ClockComparison comparison;
    while (comparison.host_seconds < enough_seconds) {
      const double before = comparison.seconds_so_far();
      const Iteration iteration = timed_iteration();
      const double called = comparison.seconds_so_far() - before;
      comparison.device_seconds += iteration.whole_seconds();
      comparison.host_seconds += session_.world.max(iteration.host_seconds > 0 ? iteration.host_seconds : called);
      ++comparison.iterations;
    }
    disagreement = comparison.disagreement();
    if (session_.world.max(disagreement ? 1 : 0) == 0) return;
  }
  throw kernels::Error({.outcome = kernels::Outcome::failed,
                        .library = "claimcheck",
                        .code = {},
                        .text = disagreement.value_or("another process found its clocks in disagreement"),
                        .remedy = "run again when nothing else uses the machine"});
}

void CaseRun::measure(benchmark::State& state) {
  Call call;
  Call own;
  while (state.KeepRunning()) {
    guarded([&] {
      if (fault(Fault::Kind::fail_later)) throw made_failure();
      Iteration iteration = timed_iteration();
      call.add(iteration);
      state.SetIterationTime(session_.world.max(iteration.whole_seconds()));
      session_.events.heartbeat(id(), "measure");
      iteration.seconds = own_seconds_;
      own.add(iteration);
    });
    if (failure_) {
      state.SkipWithError(failure_->reason.c_str());  // a loop may be left only after this
      return;
    }
  }
  const std::vector<double> sample = samples(*listed_.benchmark, prepared_->work, std::span(&call, 1));
  if (!sample.empty()) state.counters[listed_.benchmark->metric] = sample[0];
  calls_.push_back(std::move(call));
  own_calls_.push_back(std::move(own));
}

void CaseRun::start_watches() {
  for (kernels::Device* device : prepared_->devices) watches_.push_back(device->watch());
}

void CaseRun::stop_watches() {
  for (const auto& watch : watches_) sensors_.push_back(to_json(watch->stop()));
  watches_.clear();
}

bool CaseRun::finish(int repetitions) {
  if (finished_ || !begun_) return true;
  finished_ = true;
  const bool failed = failure_.has_value();  // in all processes
  phase([&] {
    stop_watches();
    if (failed) return;
    // What went wrong under load shows only now.
    session_.events.heartbeat(id(), "verify");
    if (fault(Fault::Kind::wrong_later)) spoil();
    prepared_->verify();
  });
  if (fault(Fault::Kind::garbage))
    session_.events.raw(
        "foreign \xff\xfe\x80 text\n@claimcheck {\"event\": \"measurem\n\x1b[31mno newline at the end ");
  guarded([&] { report(repetitions); });
  session_.events.end(id());
  ++session_.measured;
  guarded([&] {
    prepared_.reset();
    watches_.clear();
    if (failure_) session_.kept.reset();
  });
  return !(failure_ && failure_->context_dead);
}

nlohmann::json CaseRun::conditions(const std::string& metric, int repetitions) const {
  nlohmann::json result =
      prepared_ && prepared_->conditions.is_object() ? prepared_->conditions : nlohmann::json::object();
  if (prepared_ && prepared_->also_conditions.contains(metric)) result.update(prepared_->also_conditions[metric]);
  if (session_.world.processes() > 1) {
    const auto processes = static_cast<std::size_t>(session_.world.processes());
    if (!result.contains("ranks") && prepared_) result["ranks"] = processes * prepared_->devices.size();
    if (!result.contains("processes")) result["processes"] = processes;
    if (!result.contains("nodes")) result["nodes"] = session_.world.nodes();
  }
  result["method"] = listed_.benchmark->method;
  result["seed"] = session_.options.benchmarks.seed;
  result["min_time_seconds"] = session_.options.benchmarks.min_time_seconds;
  result["repetitions"] = repetitions;
  result["iterations"] = calls_.empty() ? 0 : calls_.back().iterations;
  return result;
}

std::vector<nlohmann::json> CaseRun::device_values(std::span<const Call> calls,
                                                   const std::vector<double>& headline) const {
  std::vector<nlohmann::json> result;
  if (!prepared_) return result;
  const std::vector<kernels::Device*>& devices = prepared_->devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::vector<double> values = device_samples(*listed_.benchmark, prepared_->work, calls, i);
    if (devices.size() == 1) values = headline;
    result.push_back({{"index", devices[i]->facts().index}, {"name", devices[i]->facts().name}, {"samples", values}});
  }
  return result;
}

// Of process 0; what others measured for themselves as numbers beside it.
nlohmann::json CaseRun::evidence(const std::vector<double>& own_values) {
  nlohmann::json evidence = nlohmann::json::object();
  if (sensors_.size() == 1) evidence = sensors_[0];
  if (sensors_.size() > 1) evidence["devices"] = sensors_;
  if (!prepared_) return evidence;
  if (prepared_->evidence && (!failure_ || prepared_->evidence_after_failure)) evidence.update(prepared_->evidence());
  if (failure_) return evidence;
  ProcessValue mine;
  for (const Call& call : own_calls_) mine.seconds += call.seconds;
  if (!own_values.empty() && mine.seconds > 0) mine.value = median(own_values);
  if (!prepared_->devices.empty()) mine.name = prepared_->devices[0]->facts().name;
  evidence.update(process_values(session_.world, mine));
  return evidence;
}

void CaseRun::report(int repetitions) {
  const Benchmark& benchmark = *listed_.benchmark;
  const std::span<const Call> calls =
      failure_ ? std::span<const Call>{} : repetitions_of(calls_, static_cast<std::size_t>(repetitions));
  const std::vector<double> headline = prepared_ ? samples(benchmark, prepared_->work, calls) : std::vector<double>{};
  const nlohmann::json evidence =
      this->evidence(failure_ ? std::vector<double>{}
                              : samples(benchmark, prepared_->work,
                                        repetitions_of(own_calls_, static_cast<std::size_t>(repetitions))));

  const auto print = [&](const std::string& metric, const std::string& unit, const std::vector<double>& values,
                         const std::vector<nlohmann::json>& devices, const nlohmann::json& with) {
    std::optional<Failure> failure = failure_;
    if (!failure && values.empty())
      failure = Failure{kernels::Outcome::failed, fmt::format("the benchmark gave no value of {}", metric), false};
    session_.events.measurement({{"id", id()},
                                 {"metric", metric},
                                 {"unit", unit},
                                 {"status", kernels::to_string(failure ? failure->outcome : kernels::Outcome::ok)},
                                 {"reason", failure ? failure->reason : std::string{}},
                                 {"samples", values},
                                 {"conditions", conditions(metric, repetitions)},
                                 {"devices", devices},
                                 {"evidence", with},
                                 {"virtual", is_virtual(session_.platform)}});
  };
  print(benchmark.metric, benchmark.unit, headline, device_values(calls, headline), evidence);
  nlohmann::json beside = evidence;
  beside.erase("series");  // long, and the same for all metrics of the case
  for (const auto& [metric, unit] : benchmark.also)
    print(metric, unit, also_samples(metric, calls), device_values({}, {}), beside);
}

}  // namespace claimcheck::bench

// One case from prepare() to its measurement events. Google Benchmark calls it several times (to find the iteration
// count, then once a repetition); what was prepared is kept in between and freed by finish().
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/worker/events.h"
#include "bench/worker/options.h"
#include "bench/worker/registry.h"
#include "bench/worker/samples.h"

namespace claimcheck::bench {

// What all cases of this process share.
struct Session {
  kernels::Platform& platform;
  kernels::World& world;
  const WorkerOptions& options;
  Events& events;
  std::shared_ptr<kernels::Group> group = {};  // of all ranks, for the cases that want one
  std::shared_ptr<void> kept = {};             // Setting::kept, of `kept_by`
  const Benchmark* kept_by = nullptr;
  int measured = 0;
};

class CaseRun {
 public:
  CaseRun(Session& session, ListedCase listed) : session_(session), listed_(std::move(listed)) {}

  const std::string& id() const { return listed_.id; }
  const ListedCase& listed() const { return listed_; }

  void call(benchmark::State& state);

  // Checks the result once more, prints the measurements, frees what was prepared. Once; later calls do nothing.
  // False when the device cannot be used again by this process.
  bool finish(int repetitions);

 private:
  void begin();
  void prepare();
  void spoil();
  void warm_up();
  void check_clock();
  void measure(benchmark::State& state);
  Iteration timed_iteration();
  void start_watches();
  void stop_watches();
  void report(int repetitions);
  std::vector<nlohmann::json> device_values(std::span<const Call> calls, const std::vector<double>& headline) const;
  nlohmann::json conditions(const std::string& metric, int repetitions) const;
  nlohmann::json evidence(const std::vector<double>& own_values);
  bool fault(Fault::Kind kind) const;

  // Runs `work`, in which all processes make the same calls of the world; an exception becomes the failure of this case
  // in all processes.
  template <class Work>
  void guarded(Work work);
  // The same, and no process goes on before all have done it.
  template <class Work>
  void phase(Work work);
  void leave_group_after_failure();

  Session& session_;
  ListedCase listed_;
  bool begun_ = false;
  bool finished_ = false;
  std::optional<Failure> failure_;
  std::optional<Prepared> prepared_;
  std::vector<std::unique_ptr<kernels::Watch>> watches_;
  std::vector<nlohmann::json> sensors_;  // of each watched device
  std::vector<Call> calls_;
  std::vector<Call> own_calls_;  // the same without regard to other processes
  double own_seconds_ = 0;       // of the last iteration
};

}  // namespace claimcheck::bench

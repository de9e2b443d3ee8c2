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
  nlohmann::json conditions(int repetitions) const;
  bool fault(Fault::Kind kind) const;

  // Runs `work`; an exception becomes this case's failure.
  template <class Work>
  void guarded(Work work);

  Session& session_;
  ListedCase listed_;
  bool begun_ = false;
  bool finished_ = false;
  std::optional<Failure> failure_;
  std::optional<Prepared> prepared_;
  std::vector<std::unique_ptr<kernels::Watch>> watches_;
  std::vector<nlohmann::json> sensors_;  // of each watched device
  std::vector<Call> calls_;
};

}  // namespace claimcheck::bench

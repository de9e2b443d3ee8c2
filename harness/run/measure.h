// Measures a plan: starts workers, follows their events, survives what happens to them. A worker that crashes or hangs
// costs the one case it was at; the others are measured by a fresh worker.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/result/measurement.h"
#include "harness/run/plan.h"

namespace claimcheck {

struct MeasureOptions {
  std::vector<std::string> command;          // launcher, worker and its options; --only and times are added
  std::optional<double> budget_seconds;      // of measuring; no case goes on past budget x 1.10
  std::optional<double> case_limit_seconds;  // of one case; default from its estimate
  std::filesystem::path log;                 // the worker's stderr and foreign output, the last 1 MiB a worker
};

// Told of everything at once; called before anything is shown. An exception (JournalError) ends the measuring.
class MeasureObserver {
 public:
  virtual ~MeasureObserver() = default;
  virtual void begin(const std::string& id, double seconds_left) = 0;
  virtual void measured(const Measurement& measurement) = 0;
  virtual void found(const Finding& finding) = 0;
  virtual void finished(const std::string& id, double seconds) = 0;  // all measurements of a case were given
  virtual void tick() = 0;
  virtual int interrupted() = 0;  // the signal that asks for an early end, 0: none
};

struct MeasureResult {
  std::vector<std::pair<std::string, std::string>> left_out;  // id, reason
  double seconds = 0;
  int interrupted_by = 0;
};

MeasureResult measure(const Plan& plan, const MeasureOptions& options, MeasureObserver& observer);

}  // namespace claimcheck

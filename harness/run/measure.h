// Measures a plan: starts workers, follows their events, survives what happens to them. A worker that crashes or hangs
// costs the one case it was at; the others are measured by a fresh worker, on the devices that are left.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/result/measurement.h"
#include "harness/run/limits.h"
#include "harness/run/plan.h"

namespace claimcheck {

struct MeasureOptions {
  std::vector<std::string> command;  // launcher, worker and its options; --only and times are added
  TimeLimits limits;
  std::filesystem::path log;  // the worker's stderr and foreign output, the first 1 MiB a worker
  // What --describe says now, within so many seconds; asked after a worker broke. Throws UserError with the reason why
  // nothing can be measured any more. Empty: the description of the plan is taken to hold on.
  std::function<nlohmann::json(double seconds)> look_again;
};

// Told of everything at once; called before anything is shown. An exception (JournalError) ends the measuring.
class MeasureObserver {
 public:
  virtual ~MeasureObserver() = default;
  virtual void begin(const std::string& id, double seconds_left) = 0;
  virtual void measured(const Measurement& measurement) = 0;
  virtual void found(const Finding& finding) = 0;
  virtual void finished(const std::string& id, double seconds) = 0;  // all measurements of a case were given
  virtual void described(const nlohmann::json& description) = 0;     // what a worker that starts now finds
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

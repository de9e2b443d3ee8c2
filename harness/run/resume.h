// What a journal holds of a run that did not end: enough to go on without measuring anything twice.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/result/measurement.h"
#include "harness/run/plan.h"
#include "harness/run/settings.h"

namespace claimcheck {

struct Resumed {
  nlohmann::json header;  // the `run` line: id, started, command, settings, worker, platform, system
  MeasureSettings measure;
  JudgeSettings judge;
  Plan plan;  // as first made
  Plan rest;  // of it, what has no result yet
  std::vector<Measurement> measurements;
  std::vector<Finding> findings;
  double measured_seconds = 0;
};

// Throws UserError naming the file and what is missing.
Resumed read_resumed(const std::filesystem::path& journal);

}  // namespace claimcheck

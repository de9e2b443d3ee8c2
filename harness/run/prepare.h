// Everything known before the first benchmark of a run: settings checked, worker chosen, plan made, machine identified.
#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/cost/cost.h"
#include "harness/result/document.h"
#include "harness/run/plan.h"
#include "harness/run/settings.h"
#include "harness/run/worker.h"

namespace claimcheck {

struct PreparedRun {
  RunSettings settings;
  std::vector<Claim> claims;
  CostOptions cost;
  Worker worker;
  Plan plan;              // whole
  Plan rest;              // what is still to measure
  nlohmann::json header;  // the journal's `run` line
  Document document;
  double measured_seconds = 0;
  std::optional<double> budget_seconds;
  int devices = 1;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  double seconds_so_far() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
};

// Both throw UserError before a minute is spent: settings, claims and prices that cannot be read, no usable device.
PreparedRun prepare_new(const RunSettings& settings, const Catalog& catalog);
PreparedRun prepare_resumed(const RunSettings& settings, const Catalog& catalog, const std::filesystem::path& journal);

// The `run` key of the document, less its end: started, profile, options, plan.
nlohmann::json run_record(const PreparedRun& prepared);

}  // namespace claimcheck

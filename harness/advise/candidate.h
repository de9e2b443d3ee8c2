// One kind of machine, measured or of the catalog, and what the workload comes to on it: a row a price term.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/advise/advise.h"
#include "harness/advise/step.h"
#include "harness/cost/goodput.h"
#include "harness/cost/rows.h"

namespace claimcheck::advise {

struct Candidate {
  std::string label;
  scale::Machine machine;
  double tflops = 0;  // of one GPU in a training step, while it computes
  std::string data_type;
  std::string basis;               // where tflops comes from
  bool estimate = true;            // no training step was measured here
  bool products_measured = false;  // but matrix products were
  std::optional<double> peak;      // dense, of the data sheet
  std::vector<HourPrice> prices;
  std::optional<CheckpointTimes> checkpoint;
};

// The rows, or why there are none: exactly one of the two is empty.
struct Verdict {
  std::vector<nlohmann::json> rows;
  std::string reason;
};

Verdict evaluate(const Candidate& candidate, const Pricing& pricing, const AdviseOptions& options);

}  // namespace claimcheck::advise

// `claimcheck advise`: which machines can train a model of so many parameters on so many tokens, how many nodes, how
// long, for how much money. Pure. need.h and step.h have the formulas, docs/advise.md explains them.
//
//   wall time    tokens / tokens a second / goodput
//   goodput      1 - save / interval - (interval / 2 + restore + restart) / time between interruptions, interval by
//                J. W. Young, 1974 (cost/goodput.h); n nodes are interrupted n times as often as one
//   money        nodes x hours x price of a node-hour; reserved: whole terms, used or not
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/advise/need.h"
#include "harness/catalog/catalog.h"
#include "harness/cost/cost.h"
#include "harness/error.h"

namespace claimcheck::advise {

// 419 unexpected interruptions in 54 days on 16384 H100s: "The Llama 3 Herd of Models" (2024), section 3.3.4.
inline constexpr double gpu_hours_between_failures = 16384.0 * 54 * 24 / 419;
inline constexpr double assumed_save_bytes_per_second = 2e9;  // of a node, where no checkpoint was measured

struct AdviseOptions {
  Workload workload;
  std::string data_type;                   // empty: bf16, fp16 on cards without it
  std::optional<double> deadline_seconds;  // unset: the fewest nodes that hold the model
  std::optional<double> budget;            // in cost.currency
  double restart_seconds = 600;            // from an interruption until a checkpoint is read (assumed)
  int most_nodes = 4096;
  std::vector<std::string> instances;  // only these; empty: the whole catalog
  CostOptions cost;  // instance and price of the first result, currency, term, rates, provider, today, top,
                     // seconds_between_interruptions of one spot node, allow_virtual
};

// results-schema/schemas/advise-answer.schema.json. Throws UserError: unknown data type, instance or provider, a
// virtual document, a model without parameters.
nlohmann::json advise_json(const std::vector<PricedResult>& results, const Catalog& catalog,
                           const AdviseOptions& options);

// ok: a machine can do it, within the deadline and the budget where there are such; not_met: none looked at can;
// incomplete: whether the budget holds is not known, for want of a currency's rate.
ExitCode outcome(const nlohmann::json& answer);

// The text of it, at most 100 columns.
std::string advise_text(const nlohmann::json& answer);

}  // namespace claimcheck::advise

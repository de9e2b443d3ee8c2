// How fast one rank computes: matrix products, and training steps where they were measured.
#include <fmt/format.h>

#include "harness/cost/cost.h"
#include "harness/judge/headline.h"
#include "harness/judge/machine.h"
#include "harness/scale/parts.h"

namespace claimcheck::scale {
namespace {

void add_products(const Document* document, const Catalog& catalog, const Accelerator* accelerator, bool host,
                  Machine& machine) {
  if (document != nullptr) {
    if (const auto useful = useful_rate(*document)) {
      machine.rank_tflops = useful->on_host ? useful->per_device / machine.fabric.ranks_per_node : useful->per_device;
      machine.data_type = useful->data_type;
      machine.facts.push_back({"matrix products of one rank", machine.rank_tflops, "TFLOPS",
                               fmt::format("measured, {}", useful->measurement_id), false});
      return;
    }
  }
  if (accelerator == nullptr || host) return;
  std::string basis;
  const auto claim = dense_claim(*accelerator, "bf16");
  const auto ratio = typical_ratio(catalog, *accelerator, "bf16", &basis);
  if (!claim || !ratio) return;
  machine.rank_tflops = *claim * *ratio;
  machine.data_type = "bf16";
  machine.facts.push_back({"matrix products of one rank", machine.rank_tflops, "TFLOPS", basis, true});
}

// Of the step with this id; nothing waited where it was not measured.
double exposed_share(const Document& document, const std::string& id) {
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric == "training.exposed_communication.share" && measurement.id == id && measurement.usable()) {
      return *measurement.value;
    }
  }
  return 0;
}

void add_steps(const Document& document, Machine& machine) {
  for (const Measurement& measurement : document.measurements) {
    if (measurement.metric != "training.tflops" || !measurement.usable() || !counts(document, measurement)) continue;
    const double share = exposed_share(document, measurement.id);
    const auto parameters = number_at(measurement.conditions, "/model/parameters");
    if (!parameters || !(*parameters > 0) || !(*measurement.value > 0) || !(share >= 0) || !(share < 1)) continue;
    machine.steps.push_back({measurement.id, *parameters, *measurement.value / (1 - share)});
  }
}

}  // namespace

void add_compute(const Document* document, const Catalog& catalog, const Accelerator* accelerator, bool host,
                 Machine& machine) {
  add_products(document, catalog, accelerator, host, machine);
  if (document != nullptr) add_steps(*document, machine);
}

}  // namespace claimcheck::scale

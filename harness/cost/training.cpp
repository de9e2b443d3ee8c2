#include "harness/cost/training.h"

#include <algorithm>

#include "harness/evidence/derived.h"
#include "harness/judge/headline.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/judge/physics.h"

namespace claimcheck {

using nlohmann::json;

json training_json(const Document& document, const Catalog& catalog) {
  Document with_shares = document;
  derive(with_shares, catalog);
  const Measurement* step = headline(with_shares, "training.tflops");
  if (step == nullptr || !step->value || measured_on_host(with_shares, *step)) return nullptr;
  if (implausible(with_shares, *step, catalog)) return nullptr;
  const std::size_t devices = std::max<std::size_t>(1, devices_at_work(*step) / nodes_seen(document));
  json mfu = nullptr;
  for (const Measurement& share : with_shares.measurements) {
    if (share.metric == "training.mfu" && share.id == step->id && share.value) mfu = *share.value;
  }
  return {{"measurement_id", step->id},
          {"per_device", *step->value},
          {"devices", devices},
          {"tflops", *step->value * static_cast<double>(devices)},
          {"mfu", mfu},
          {"per_eflop", nullptr}};
}

}  // namespace claimcheck

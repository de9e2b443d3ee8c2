#include "harness/advise/need.h"

#include <algorithm>
#include <cmath>

namespace claimcheck::advise {

scale::TrainingModel with_shape(scale::TrainingModel model) {
  constexpr double aspect = 128;
  constexpr double multiple = 64;  // what matrix units like
  if (model.layers > 0 && model.width > 0) return model;
  const double layers = std::max(1.0, std::round(std::cbrt(model.parameters / (12 * aspect * aspect))));
  const double width = std::sqrt(model.parameters / (12 * layers));
  model.layers = static_cast<int>(layers);
  model.width = static_cast<int>(std::max(multiple, std::round(width / multiple) * multiple));
  return model;
}

Need training_need(const Workload& workload) {
  const double h = workload.model.width;
  const double layers = workload.model.layers;
  const double s = workload.sequence;
  const double logits = 6 * s * workload.vocabulary;
  Need need;
  need.states = state_bytes * workload.model.parameters;
  need.gathered = 72 * h * h;
  need.kept = 34 * s * h * layers + logits;
  need.computed = 2 * s * h * layers + 34 * s * h + logits;
  need.checkpoint = checkpoint_bytes * workload.model.parameters;
  return need;
}

InferenceNeed inference_need(const Workload& workload, double bytes_per_weight) {
  return {bytes_per_weight * workload.model.parameters,
          4 * workload.sequence * workload.model.width * workload.model.layers};
}

std::optional<int> gpus_for(double sharded, double each, double memory_bytes) {
  const double room = usable_share * memory_bytes - each;
  if (room <= 0) return std::nullopt;
  const double gpus = std::ceil(sharded / room);
  if (gpus > 1e6) return std::nullopt;
  return std::max(1, static_cast<int>(gpus));
}

}  // namespace claimcheck::advise

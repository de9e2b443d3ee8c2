// `claimcheck scale`: all-reduce and training steps on more machines than there are here. Pure.
// harness/scale/allreduce.h and training.h have the formulas, docs/scaling.md explains them with their errors.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"
#include "harness/scale/machine.h"
#include "harness/scale/training.h"

namespace claimcheck::scale {

inline constexpr double mib = 1 << 20;
inline constexpr double default_step_share = 0.55;  // docs/scaling.md says of what

struct ScaleOptions {
  std::vector<int> nodes = {1, 8, 64, 512};
  bool nodes_asked = false;  // else one node alone is shown where the network is not known
  std::vector<double> message_bytes = {1 * mib, 25 * mib, 256 * mib, 8192 * mib};
  MachineOptions machine;
  TrainingModel model;                 // training_model("1.3B")
  double batch = 8;                    // sequences a GPU, weak scaling
  std::optional<double> global_batch;  // strong scaling; unset: see default_global_batch()
  double sequence = 2048;              // tokens
  double gradient_bytes = 2;           // of one parameter
  double bucket_bytes = 25 * mib;
  std::optional<double> step_share;  // of the rate of matrix products that a step keeps; unset: measured, else default
  bool overlap = true;
  bool allow_virtual = false;
};

// `batch` on every GPU of the fewest nodes, and at least one sequence on every GPU of the most.
double default_global_batch(double batch, int fewest_gpus, int most_gpus);

// "1,8,64": whole numbers from 1 to 65536, sorted, each once. Throws UserError.
std::vector<int> parse_nodes(std::string_view text);
// "1MiB,256MiB,8GiB,4096": sizes in bytes. Throws UserError.
std::vector<double> parse_sizes(std::string_view text);

// results-schema/schemas/scale-answer.schema.json. `document` may be null. Throws UserError: what machine_of() throws,
// a virtual document, several nodes without a network.
nlohmann::json scale_json(const Document* document, const Catalog& catalog, const ScaleOptions& options);

// The text of it, at most 100 columns.
std::string scale_text(const nlohmann::json& scale);

}  // namespace claimcheck::scale

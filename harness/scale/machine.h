// The machine a prediction is for: what was measured on it, and what the catalog says where nothing was. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/result/document.h"
#include "harness/scale/allreduce.h"
#include "harness/scale/fit.h"

namespace claimcheck::scale {

// A number of the model and where it comes from. Estimates were not measured on this machine.
struct Fact {
  std::string name;
  std::optional<double> value;
  std::string unit;
  std::string basis;
  bool estimate = true;
};

// A training step that was measured here: the rate of one rank while it computes, what it waited for others taken out.
struct MeasuredStep {
  std::string id;
  double parameters = 0;
  double tflops = 0;  // training.tflops / (1 - training.exposed_communication.share)
};

struct Machine {
  std::string instance;     // catalog id, empty when unknown
  std::string accelerator;  // catalog id, or the name the result has; empty for a CPU
  std::string name;         // as shown: "8 x NVIDIA H100 SXM5 80GB"
  Fabric fabric;
  std::map<int, AlphaBeta> measured;   // all-reduce by nodes, of ranks_per_node each
  std::optional<double> rank_tflops;   // of matrix products, one rank
  std::optional<double> memory_bytes;  // of one rank's device
  std::string data_type;               // of those products
  std::vector<MeasuredStep> steps;
  std::vector<Fact> facts;         // what the fabric and the rate were made from
  std::vector<std::string> notes;  // what the reader must know
  bool is_virtual = false;
};

struct MachineOptions {
  std::optional<std::string> instance;  // --instance, wins over what the document says
  std::optional<int> ranks_per_node;    // --gpus-per-node
  std::optional<double> network_gbit;   // --network: of a node, one way, Gb/s
};

// The points of an all-reduce curve: seconds by size, of one number of nodes and ranks.
struct Curve {
  int nodes = 1;
  int ranks = 0;
  std::vector<TimedSize> points;
  std::string algorithm;  // that the largest size used, lower case; empty when the result does not say
};

// Of allreduce.busbw.gbps (out of place where both were measured) and allreduce.latency.us. `nodes` of the conditions
// counts where it is there, else one node. By nodes and ranks.
std::vector<Curve> measured_curves(const Document& document);

// `document` may be null. Throws UserError: unknown instance (naming the nearest), nothing to go by, ranks that do not
// divide into nodes.
Machine machine_of(const Document* document, const Catalog& catalog, const MachineOptions& options);

}  // namespace claimcheck::scale

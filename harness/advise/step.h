// The fastest way to make one update of the weights on so many nodes. Pure.
//
// g GPUs share a batch of B sequences: b = B / g each, in m micro-batches of as many sequences as fit. Ways:
//   replicated   every GPU has all states; gradients (2 bytes a parameter) are reduced once an update, while the last
//                micro-batch goes backward (scale/training.h)
//   sharded      states are spread over all GPUs (ZeRO stage 3, FSDP): each micro-batch gathers the weights twice and
//                scatters the gradients once, together 1.5 all-reduces of 2 bytes a parameter, layer by layer (ZeRO,
//                section 7.2.2); what takes longer than the arithmetic is seen
//   each with activations kept, or computed again for a third more arithmetic
// efficiency = arithmetic of the model alone / time of the update. Tensor and pipeline parallelism are not modelled.
#pragma once

#include <optional>

#include "harness/advise/need.h"
#include "harness/scale/machine.h"

namespace claimcheck::advise {

struct Update {
  int gpus = 0;
  bool sharded = false;
  bool computed_again = false;
  double micro_sequences = 0;  // of one micro-batch
  int micro_batches = 1;
  double seconds = 0;
  double exposed_seconds = 0;  // of communication that no arithmetic hides
  double efficiency = 0;
};

// `tflops`: what one GPU does in a step while it computes. Unset when nothing fits, or when the batch has less than one
// sequence a GPU. machine.memory_bytes is known; machine.fabric.network_rate too where nodes > 1.
std::optional<Update> fastest_update(const Workload& workload, const scale::Machine& machine, double tflops, int nodes);

}  // namespace claimcheck::advise

// What a model of so many parameters needs of memory and arithmetic. Pure.
//
// P parameters, L layers of width h, sequences of s tokens, vocabulary V. Bytes:
//   states        16 P     bf16 weights and gradients, fp32 master weights, two fp32 moments of Adam (ZeRO, Rajbhandari
//                          et al. 2020, section 3.1)
//   checkpoint    14 P     the states without the gradients
//   activations   34 s h L a sequence, kept; 2 s h L + 34 s h, computed again in backward (Korthikanti et al. 2022,
//                          equation 1 without the softmax, which fused attention does not keep)
//   logits        6 s V    a sequence, in 16 bit with an fp32 copy
//   gathered      72 h^2   where states are sharded: two layers of weights and one of gradients, 12 h^2 x 2 bytes each
//   inference     weights in the data type, and 4 s h L a sequence of keys and values (16 bit, every head its own)
//   FLOPs         6 P + 12 L h s a token (PaLM, Chowdhery et al. 2022, appendix B); 8/6 of it where activations are
//                          computed again
// Usable is 90 % of a GPU's memory: the rest is taken by the CUDA context, the libraries' workspaces and gaps
// (assumed).
#pragma once

#include <optional>
#include <string>

#include "harness/scale/training.h"

namespace claimcheck::advise {

inline constexpr double state_bytes = 16;
inline constexpr double checkpoint_bytes = 14;
inline constexpr double usable_share = 0.90;

struct Workload {
  scale::TrainingModel model;
  double tokens = 0;  // to train on
  double sequence = 4096;
  double batch_tokens = 4e6;  // of all GPUs together, between two updates of the weights
  double vocabulary = 32000;
  double sequences() const { return batch_tokens / sequence; }
  double flops() const { return tokens * scale::flops_per_token(model, sequence); }
};

// The shape that GPT-3's family has (width = 128 x layers, P = 12 L h^2) where only the parameters are known.
scale::TrainingModel with_shape(scale::TrainingModel model);

struct Need {
  double states = 0;
  double gathered = 0;
  double kept = 0;      // activations and logits of one sequence
  double computed = 0;  // the same where activations are computed again
  double checkpoint = 0;
};
Need training_need(const Workload& workload);

// Bytes of the weights, and of the keys and values of one sequence.
struct InferenceNeed {
  double weights = 0;
  double keys_and_values = 0;
};
InferenceNeed inference_need(const Workload& workload, double bytes_per_weight);

// GPUs of so much memory that hold `sharded` bytes in equal parts and `each` bytes besides; unset when `each` alone is
// too much.
std::optional<int> gpus_for(double sharded, double each, double memory_bytes);

}  // namespace claimcheck::advise

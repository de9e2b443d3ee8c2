// How long a step of data-parallel training takes, and what of its communication stays visible. Pure.
//
//   FLOPs of a token      6 P + 12 x layers x width x sequence      forward and backward; PaLM (Chowdhery et al. 2022),
//                                                                   appendix B; P parameters
//   compute               tokens x FLOPs of a token / (rate of matrix products x share that a step keeps)
//   backward              2/3 of it: two products where forward has one
//   gradients             P x bytes of a gradient, in buckets; a bucket is ready when backward has made its share, and
//                         buckets are reduced one after the other (PyTorch DDP: Li et al., VLDB 2020)
//   exposed               end of the last all-reduce - end of backward; without overlap, all of it
//   step                  compute + exposed
//   efficiency            compute / step, against one GPU that works alone (for strong scaling: with its share of the
//                         batch, so what small batches lose in the products is not counted)
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck::scale {

struct TrainingModel {
  std::string name;
  double parameters = 0;
  int layers = 0;  // 0: unknown, the attention's products are not counted
  int width = 0;
};

// GPT-3's table 2.1 (Brown et al. 2020); 7B is its 6.7B.
const std::vector<TrainingModel>& training_presets();

// A preset, or a number of parameters: "125M", "7B", "350e6". Throws UserError naming the nearest.
TrainingModel training_model(std::string_view text);

double flops_per_token(const TrainingModel& model, double sequence);

struct Gradients {
  double bytes = 0;
  double bucket_bytes = 25.0 * (1 << 20);  // PyTorch DDP's default
  bool overlap = true;
};

struct Step {
  double compute_seconds = 0;
  double allreduce_seconds = 0;  // of all buckets
  double exposed_seconds = 0;
  double seconds() const { return compute_seconds + exposed_seconds; }
  double efficiency() const { return compute_seconds / seconds(); }
};

// `allreduce` gives the seconds of one of so many bytes; zero for one rank.
Step training_step(double compute_seconds, const Gradients& gradients, const std::function<double(double)>& allreduce);

}  // namespace claimcheck::scale

// A decoder-only transformer and its training step on one device: token embedding, layers of causal attention with
// rotary positions and of SwiGLU, each behind RMSNorm, and a linear head with cross-entropy (Touvron et al., "LLaMA",
// 2023; multi-head attention as there, all products from the vendor's library).
//
// Weights are drawn with variance 1 and every product is scaled by 1 / sqrt(k) instead, so that one fill() sets them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

struct TransformerShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t hidden = 0;  // of the SwiGLU
  std::int64_t vocabulary = 0;
  std::int64_t sequence = 0;
  std::int64_t batch = 0;

  std::int64_t head() const { return width / heads; }
  std::int64_t tokens() const { return sequence * batch; }
  // Of all weights, and of those that are multiplied (without the embedding, which is looked up).
  std::int64_t parameters() const;
  std::int64_t multiplied_parameters() const;
  // Model FLOP of one step: 6 for each multiplied parameter and token, and 12 x layers x width x sequence a token for
  // attention (Chowdhery et al., "PaLM", 2022, appendix B). Nothing is counted twice that is computed twice.
  double step_flop() const;
};

// Elements of the flat buffers that hold all weights (gradients, moments) one behind the other.
struct ParameterSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

struct LayerParameters {
  ParameterSpan attention_norm;
  ParameterSpan qkv;  // width x 3 width
  ParameterSpan out;  // width x width
  ParameterSpan mlp_norm;
  ParameterSpan gate_up;  // width x 2 hidden
  ParameterSpan down;     // hidden x width
  ParameterSpan all;      // of the layer, contiguous
};

struct ParameterLayout {
  explicit ParameterLayout(const TransformerShape& shape);
  ParameterSpan embedding;
  std::vector<LayerParameters> layers;
  ParameterSpan norm;
  ParameterSpan head;  // width x vocabulary
  ParameterSpan tail;  // norm and head, contiguous
  std::int64_t count = 0;
};

class Transformer {
 public:
  // Allocates, draws weights from the seed (the same on every rank) and tokens from seed and rank.
  Transformer(kernels::Device& device, kernels::Stream& stream, const TransformerShape& shape, std::uint64_t seed,
              int rank);

  // What the constructor allocates; activations included.
  static std::size_t bytes(const TransformerShape& shape, kernels::DataType type);

  // A step is forward(), backward_tail(), backward_layer() from the last to 0, backward_embedding(), update(). After
  // each backward call the gradients of that part are complete: those of parameters().tail, .layers[i].all, .embedding.
  void forward(kernels::Stream& stream);
  void backward_tail(kernels::Stream& stream);
  void backward_layer(kernels::Stream& stream, std::size_t layer);
  void backward_embedding(kernels::Stream& stream);
  void update(kernels::Stream& stream, float learning_rate, int ranks);

  const TransformerShape& shape() const { return shape_; }
  const ParameterLayout& parameters() const { return parameters_; }
  kernels::DataType type() const { return neural_->type(); }
  kernels::Slice gradient(const ParameterSpan& span);
  kernels::Slice weights(const ParameterSpan& span);
  kernels::Slice master(const ParameterSpan& span);

  // Mean over the tokens of the last forward(). Waits.
  double loss(kernels::Stream& stream);
  std::span<const std::int32_t> inputs() const { return inputs_; }
  std::span<const std::int32_t> targets() const { return targets_; }

 private:
  using Buffer = std::unique_ptr<kernels::Buffer>;
  // What a layer's forward pass leaves for its backward pass. Rows are tokens.
  struct Activations {
    Buffer input;  // width; of the first layer the embedded tokens
    Buffer attention_normal;
    Buffer attention_inverse;  // fp32, a value a row
    Buffer qkv;                // 3 width
    Buffer probabilities;      // batch x heads x sequence rows of `sequence`
    Buffer context;            // width, before the output product
    Buffer middle;             // width, after attention
    Buffer mlp_normal;
    Buffer mlp_inverse;
    Buffer gate_up;  // 2 hidden
    Buffer active;   // hidden
  };

  void allocate();
  void draw(kernels::Stream& stream, std::uint64_t seed, int rank);
  Buffer values(std::int64_t count);
  Buffer floats(std::int64_t count);
  kernels::Slice part(kernels::Buffer& buffer, std::int64_t first, std::int64_t count) const;

  void forward_layer(kernels::Stream& stream, std::size_t layer, kernels::Buffer& output);
  void attention(kernels::Stream& stream, const Activations& kept);
  void attention_backward(kernels::Stream& stream, const Activations& kept);
  // y = x W and its two derivatives; `rows` is tokens.
  void linear(kernels::Stream& stream, kernels::Buffer& x, const ParameterSpan& weight, kernels::Buffer& y,
              std::int64_t from, std::int64_t to);
  void linear_backward(kernels::Stream& stream, kernels::Buffer& dy, kernels::Buffer& x, const ParameterSpan& weight,
                       kernels::Buffer& dx, std::int64_t from, std::int64_t to);

  kernels::Device& device_;
  std::unique_ptr<kernels::Neural> neural_;
  TransformerShape shape_;
  ParameterLayout parameters_;
  std::size_t value_bytes_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> targets_;
  std::int64_t steps_ = 0;

  Buffer weights_;
  Buffer gradients_;
  Buffer master_;  // fp32, as the moments
  Buffer first_;
  Buffer second_;
  Buffer input_tokens_;
  Buffer target_tokens_;
  Buffer losses_;
  std::vector<Activations> layers_;
  Buffer output_;  // of the last layer
  Buffer output_normal_;
  Buffer output_inverse_;
  Buffer logits_;    // tokens x vocabulary; their gradient after forward()
  Buffer residual_;  // gradient of a layer's output, then of its input
  Buffer d_wide_;    // gradients inside a layer: 2 hidden, 3 width
  Buffer d_hidden_;  // hidden, width
  Buffer d_scores_;  // of one sequence: heads x sequence rows
};

}  // namespace claimcheck::bench

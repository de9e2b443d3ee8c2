#include "bench/transformer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace claimcheck::bench {

using kernels::DataType;
using kernels::Pattern;
using kernels::Product;
using kernels::Slice;
using kernels::Stream;

namespace {

// Tensors begin at multiples of 256 bytes in every type, which products like.
constexpr std::int64_t alignment = 128;

std::int64_t aligned(std::int64_t count) { return (count + alignment - 1) / alignment * alignment; }

ParameterSpan take(std::int64_t& end, std::int64_t count) {
  const ParameterSpan span{end, count};
  end += aligned(count);
  return span;
}

float scale_of(std::int64_t k) { return static_cast<float>(1 / std::sqrt(static_cast<double>(k))); }

template <class Value>
std::span<const std::byte> bytes_of(const std::vector<Value>& values) {
  return std::as_bytes(std::span<const Value>(values));
}

}  // namespace

std::int64_t TransformerShape::multiplied_parameters() const {
  return layers * (4 * width * width + 3 * width * hidden) + width * vocabulary;
}

std::int64_t TransformerShape::parameters() const {
  return multiplied_parameters() + width * vocabulary + (2 * layers + 1) * width;
}

double TransformerShape::step_flop() const {
  const auto of_token = 6.0 * static_cast<double>(multiplied_parameters()) +
                        12.0 * static_cast<double>(layers * width) * static_cast<double>(sequence);
  return of_token * static_cast<double>(tokens());
}

ParameterLayout::ParameterLayout(const TransformerShape& shape) {
  const std::int64_t w = shape.width;
  embedding = take(count, shape.vocabulary * w);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    LayerParameters layer;
    const std::int64_t begin = count;
    layer.attention_norm = take(count, w);
    layer.qkv = take(count, w * 3 * w);
    layer.out = take(count, w * w);
    layer.mlp_norm = take(count, w);
    layer.gate_up = take(count, w * 2 * shape.hidden);
    layer.down = take(count, shape.hidden * w);
    layer.all = {begin, count - begin};
    layers.push_back(layer);
  }
  const std::int64_t begin = count;
  norm = take(count, w);
  head = take(count, w * shape.vocabulary);
  tail = {begin, count - begin};
}

std::size_t Transformer::bytes(const TransformerShape& shape, DataType type) {
  const auto value = static_cast<std::int64_t>(kernels::storage_bytes(type, 1));
  const std::int64_t t = shape.tokens();
  const std::int64_t of_layer = t * (8 * shape.width + 3 * shape.hidden) + t * shape.heads * shape.sequence;
  const std::int64_t shared =
      t * (6 * shape.width + 3 * shape.hidden + shape.vocabulary) + shape.heads * shape.sequence * shape.sequence;
  const std::int64_t states = ParameterLayout(shape).count * (2 * value + 12);
  return static_cast<std::size_t>(states + value * (shape.layers * of_layer + shared) + 8 * t * (shape.layers + 2));
}

Transformer::Transformer(kernels::Device& device, Stream& stream, const TransformerShape& shape, std::uint64_t seed,
                         int rank)
    : device_(device),
      neural_(device.make_neural()),
      shape_(shape),
      parameters_(shape),
      value_bytes_(kernels::storage_bytes(neural_->type(), 1)) {
  allocate();
  draw(stream, seed, rank);
}

Transformer::Buffer Transformer::values(std::int64_t count) {
  return device_.allocate(static_cast<std::size_t>(aligned(count)) * value_bytes_);
}

Transformer::Buffer Transformer::floats(std::int64_t count) {
  return device_.allocate(static_cast<std::size_t>(aligned(count)) * sizeof(float));
}

void Transformer::allocate() {
  const std::int64_t t = shape_.tokens();
  const std::int64_t w = shape_.width;
  weights_ = values(parameters_.count);
  gradients_ = values(parameters_.count);
  master_ = floats(parameters_.count);
  first_ = floats(parameters_.count);
  second_ = floats(parameters_.count);
  input_tokens_ = floats(t);  // int32
  target_tokens_ = floats(t);
  losses_ = floats(t);
  for (std::int64_t i = 0; i < shape_.layers; ++i) {
    Activations kept;
    kept.input = values(t * w);
    kept.attention_normal = values(t * w);
    kept.attention_inverse = floats(t);
    kept.qkv = values(t * 3 * w);
    kept.probabilities = values(t * shape_.heads * shape_.sequence);
    kept.context = values(t * w);
    kept.middle = values(t * w);
    kept.mlp_normal = values(t * w);
    kept.mlp_inverse = floats(t);
    kept.gate_up = values(t * 2 * shape_.hidden);
    kept.active = values(t * shape_.hidden);
    layers_.push_back(std::move(kept));
  }
  output_ = values(t * w);
  output_normal_ = values(t * w);
  output_inverse_ = floats(t);
  logits_ = values(t * shape_.vocabulary);
  residual_ = values(t * w);
  d_wide_ = values(t * std::max(2 * shape_.hidden, 3 * w));
  d_hidden_ = values(t * std::max(shape_.hidden, w));
  d_scores_ = values(shape_.heads * shape_.sequence * shape_.sequence);
}

void Transformer::draw(Stream& stream, std::uint64_t seed, int rank) {
  device_.fill(stream, *master_, DataType::fp32, Pattern::normal, seed);
  device_.fill(stream, *weights_, type(), Pattern::normal, seed);
  device_.fill(stream, *gradients_, type(), Pattern::zeros, 0);
  device_.fill(stream, *first_, DataType::fp32, Pattern::zeros, 0);
  device_.fill(stream, *second_, DataType::fp32, Pattern::zeros, 0);
  // The factors of the norms start at 1.
  const std::vector<double> ones(static_cast<std::size_t>(shape_.width), 1.0);
  const auto set_ones = [&](const ParameterSpan& span) {
    for (const auto& [slice, kind] : {std::pair{weights(span), type()}, std::pair{master(span), DataType::fp32}}) {
      std::vector<std::byte> stored(slice.size_bytes);
      kernels::encode(kind, ones, stored);
      device_.upload(stream, slice, stored);
    }
  };
  for (const LayerParameters& layer : parameters_.layers) {
    set_ones(layer.attention_norm);
    set_ones(layer.mlp_norm);
  }
  set_ones(parameters_.norm);

  // The task: a fixed text of random tokens, each of which predicts the next one.
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(rank));
  std::vector<std::int32_t> text(static_cast<std::size_t>(shape_.tokens()) + 1);
  for (std::int32_t& token : text)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape_.vocabulary));
  inputs_.assign(text.begin(), text.end() - 1);
  targets_.assign(text.begin() + 1, text.end());
  device_.upload(stream, Slice(*input_tokens_, 0, inputs_.size() * sizeof(std::int32_t)), bytes_of(inputs_));
  device_.upload(stream, Slice(*target_tokens_, 0, targets_.size() * sizeof(std::int32_t)), bytes_of(targets_));
}

Slice Transformer::part(kernels::Buffer& buffer, std::int64_t first, std::int64_t count) const {
  return {buffer, static_cast<std::size_t>(first) * value_bytes_, static_cast<std::size_t>(count) * value_bytes_};
}

Slice Transformer::gradient(const ParameterSpan& span) { return part(*gradients_, span.first, span.count); }
Slice Transformer::weights(const ParameterSpan& span) { return part(*weights_, span.first, span.count); }
Slice Transformer::master(const ParameterSpan& span) {
  return {*master_, static_cast<std::size_t>(span.first) * sizeof(float),
          static_cast<std::size_t>(span.count) * sizeof(float)};
}

void Transformer::linear(Stream& stream, kernels::Buffer& x, const ParameterSpan& weight, kernels::Buffer& y,
                         std::int64_t from, std::int64_t to) {
  neural_->product(stream, {.m = shape_.tokens(), .n = to, .k = from, .alpha = scale_of(from)}, x, weights(weight), y);
}

void Transformer::linear_backward(Stream& stream, kernels::Buffer& dy, kernels::Buffer& x, const ParameterSpan& weight,
                                  kernels::Buffer& dx, std::int64_t from, std::int64_t to) {
  const float scale = scale_of(from);
  neural_->product(stream, {.m = from, .n = to, .k = shape_.tokens(), .transpose_a = true, .alpha = scale}, x, dy,
                   gradient(weight));
  neural_->product(stream, {.m = shape_.tokens(), .n = from, .k = to, .transpose_b = true, .alpha = scale}, dy,
                   weights(weight), dx);
}

// Scores and contexts of one sequence at a time, all its heads in one batch of products.
void Transformer::attention(Stream& stream, const Activations& kept) {
  const std::int64_t s = shape_.sequence;
  const std::int64_t w = shape_.width;
  const std::int64_t h = shape_.head();
  for (std::int64_t first = 0; first < shape_.heads * 2; first += shape_.heads)  // queries, then keys
    neural_->rotary(stream, part(*kept.qkv, first * h, shape_.tokens() * 3 * w - first * h), shape_.tokens(),
                    shape_.heads, h, 3 * w, s, false);
  Product scores{.m = s, .n = s, .k = h, .transpose_b = true, .alpha = scale_of(h)};
  scores.leading_a = scores.leading_b = 3 * w;
  scores.batch = shape_.heads;
  scores.stride_a = scores.stride_b = h;
  scores.stride_c = s * s;
  Product mixed{.m = s, .n = h, .k = s};
  mixed.leading_b = 3 * w;
  mixed.leading_c = w;
  mixed.batch = shape_.heads;
  mixed.stride_a = s * s;
  mixed.stride_b = mixed.stride_c = h;
  const std::int64_t of_sequence = shape_.heads * s * s;
  for (std::int64_t i = 0; i < shape_.batch; ++i) {
    const std::int64_t row = i * s * 3 * w;
    const std::int64_t rest = s * 3 * w;
    const Slice p = part(*kept.probabilities, i * of_sequence, of_sequence);
    neural_->product(stream, scores, part(*kept.qkv, row, rest), part(*kept.qkv, row + w, rest - w), p);
    neural_->causal_softmax(stream, p, shape_.heads * s, s);
    neural_->product(stream, mixed, p, part(*kept.qkv, row + 2 * w, rest - 2 * w),
                     part(*kept.context, i * s * w, s * w));
  }
}

// From the gradient of the context in d_hidden_ to that of queries, keys and values in d_wide_.
void Transformer::attention_backward(Stream& stream, const Activations& kept) {
  const std::int64_t s = shape_.sequence;
  const std::int64_t w = shape_.width;
  const std::int64_t h = shape_.head();
  const std::int64_t of_sequence = shape_.heads * s * s;
  Product to_scores{.m = s, .n = s, .k = h, .transpose_b = true};  // d p = d context V^T
  to_scores.leading_a = w;
  to_scores.leading_b = 3 * w;
  to_scores.batch = shape_.heads;
  to_scores.stride_a = to_scores.stride_b = h;
  to_scores.stride_c = s * s;
  Product to_values{.m = s, .n = h, .k = s, .transpose_a = true};  // d V = p^T d context
  to_values.leading_b = w;
  to_values.leading_c = 3 * w;
  to_values.batch = shape_.heads;
  to_values.stride_a = s * s;
  to_values.stride_b = to_values.stride_c = h;
  Product to_queries{.m = s, .n = h, .k = s, .alpha = scale_of(h)};  // d Q = d scores K
  to_queries.leading_b = to_queries.leading_c = 3 * w;
  to_queries.batch = shape_.heads;
  to_queries.stride_a = s * s;
  to_queries.stride_b = to_queries.stride_c = h;
  Product to_keys = to_queries;  // d K = d scores^T Q
  to_keys.transpose_a = true;
  for (std::int64_t i = 0; i < shape_.batch; ++i) {
    const std::int64_t row = i * s * 3 * w;
    const std::int64_t rest = s * 3 * w;
    const Slice p = part(*kept.probabilities, i * of_sequence, of_sequence);
    const Slice d_context = part(*d_hidden_, i * s * w, s * w);
    neural_->product(stream, to_values, p, d_context, part(*d_wide_, row + 2 * w, rest - 2 * w));
    neural_->product(stream, to_scores, d_context, part(*kept.qkv, row + 2 * w, rest - 2 * w), *d_scores_);
    neural_->causal_softmax_backward(stream, p, *d_scores_, shape_.heads * s, s);
    neural_->product(stream, to_queries, *d_scores_, part(*kept.qkv, row + w, rest - w), part(*d_wide_, row, rest));
    neural_->product(stream, to_keys, *d_scores_, part(*kept.qkv, row, rest), part(*d_wide_, row + w, rest - w));
  }
  for (std::int64_t first = 0; first < shape_.heads * 2; first += shape_.heads)
    neural_->rotary(stream, part(*d_wide_, first * h, shape_.tokens() * 3 * w - first * h), shape_.tokens(),
                    shape_.heads, h, 3 * w, s, true);
}

void Transformer::forward_layer(Stream& stream, std::size_t number, kernels::Buffer& output) {
  const Activations& kept = layers_[number];
  const LayerParameters& layer = parameters_.layers[number];
  const std::int64_t t = shape_.tokens();
  const std::int64_t w = shape_.width;
  neural_->rms_norm(stream, *kept.input, weights(layer.attention_norm), *kept.attention_normal, *kept.attention_inverse,
                    t, w);
  linear(stream, *kept.attention_normal, layer.qkv, *kept.qkv, w, 3 * w);
  attention(stream, kept);
  linear(stream, *kept.context, layer.out, *kept.middle, w, w);
  neural_->add(stream, *kept.input, *kept.middle, t * w);
  neural_->rms_norm(stream, *kept.middle, weights(layer.mlp_norm), *kept.mlp_normal, *kept.mlp_inverse, t, w);
  linear(stream, *kept.mlp_normal, layer.gate_up, *kept.gate_up, w, 2 * shape_.hidden);
  neural_->swiglu(stream, *kept.gate_up, *kept.active, t, shape_.hidden);
  linear(stream, *kept.active, layer.down, output, shape_.hidden, w);
  neural_->add(stream, *kept.middle, output, t * w);
}

void Transformer::forward(Stream& stream) {
  const std::int64_t t = shape_.tokens();
  const std::int64_t w = shape_.width;
  neural_->embed(stream, weights(parameters_.embedding), *input_tokens_, *layers_[0].input, t, w);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    forward_layer(stream, i, i + 1 < layers_.size() ? *layers_[i + 1].input : *output_);
  neural_->rms_norm(stream, *output_, weights(parameters_.norm), *output_normal_, *output_inverse_, t, w);
  linear(stream, *output_normal_, parameters_.head, *logits_, w, shape_.vocabulary);
  neural_->cross_entropy(stream, *logits_, *target_tokens_, *losses_, t, shape_.vocabulary,
                         1.0F / static_cast<float>(t));
}

void Transformer::backward_tail(Stream& stream) {
  linear_backward(stream, *logits_, *output_normal_, parameters_.head, *d_hidden_, shape_.width, shape_.vocabulary);
  neural_->rms_norm_backward(stream, *d_hidden_, *output_, weights(parameters_.norm), *output_inverse_, *residual_,
                             false, gradient(parameters_.norm), shape_.tokens(), shape_.width);
}

void Transformer::backward_layer(Stream& stream, std::size_t number) {
  const Activations& kept = layers_[number];
  const LayerParameters& layer = parameters_.layers[number];
  const std::int64_t t = shape_.tokens();
  const std::int64_t w = shape_.width;
  linear_backward(stream, *residual_, *kept.active, layer.down, *d_hidden_, shape_.hidden, w);
  neural_->swiglu_backward(stream, *d_hidden_, *kept.gate_up, *d_wide_, t, shape_.hidden);
  linear_backward(stream, *d_wide_, *kept.mlp_normal, layer.gate_up, *d_hidden_, w, 2 * shape_.hidden);
  neural_->rms_norm_backward(stream, *d_hidden_, *kept.middle, weights(layer.mlp_norm), *kept.mlp_inverse, *residual_,
                             true, gradient(layer.mlp_norm), t, w);
  linear_backward(stream, *residual_, *kept.context, layer.out, *d_hidden_, w, w);
  attention_backward(stream, kept);
  linear_backward(stream, *d_wide_, *kept.attention_normal, layer.qkv, *d_hidden_, w, 3 * w);
  neural_->rms_norm_backward(stream, *d_hidden_, *kept.input, weights(layer.attention_norm), *kept.attention_inverse,
                             *residual_, true, gradient(layer.attention_norm), t, w);
}

void Transformer::backward_embedding(Stream& stream) {
  neural_->zero(stream, gradient(parameters_.embedding));
  neural_->embed_backward(stream, *residual_, *input_tokens_, gradient(parameters_.embedding), shape_.tokens(),
                          shape_.width);
}

void Transformer::update(Stream& stream, float learning_rate, int ranks) {
  ++steps_;
  neural_->adamw(stream,
                 {.learning_rate = learning_rate, .gradient_scale = 1.0F / static_cast<float>(ranks), .step = steps_},
                 *master_, *first_, *second_, *gradients_, *weights_, parameters_.count);
}

double Transformer::loss(Stream& stream) {
  std::vector<float> losses(static_cast<std::size_t>(shape_.tokens()));
  const std::size_t size = losses.size() * sizeof(float);
  device_.download(stream, std::as_writable_bytes(std::span(losses)), Slice(*losses_, 0, size));
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(shape_.tokens());
}

}  // namespace claimcheck::bench

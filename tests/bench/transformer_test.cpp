// The training step against its reference in double, and that against finite differences.
#include "bench/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/transformer_reference.h"

namespace claimcheck::bench {
namespace {

using kernels::DataType;

// Two sequences, more than one head and layer, no two sizes alike.
const TransformerShape tiny{
    .layers = 2, .width = 32, .heads = 2, .hidden = 48, .vocabulary = 40, .sequence = 6, .batch = 2};

std::vector<double> random_weights(const TransformerShape& shape) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> weights(static_cast<std::size_t>(ParameterLayout(shape).count));
  for (double& weight : weights) weight = normal(random);
  return weights;
}

TEST(TransformerShape, CountsParametersAndFlop) {
  // By hand: 2 layers x (4 x 32 x 32 + 3 x 32 x 48) + 32 x 40 = 2 x (4096 + 4608) + 1280.
  EXPECT_EQ(tiny.multiplied_parameters(), 18688);
  // And the embedding, 32 x 40, and 5 norms of 32.
  EXPECT_EQ(tiny.parameters(), 18688 + 1280 + 160);
  // 12 tokens x (6 x 18688 + 12 x 2 x 32 x 6).
  EXPECT_EQ(tiny.step_flop(), 12.0 * (112128 + 4608));
}

TEST(TransformerReference, GradientsAreFiniteDifferences) {
  std::vector<double> weights = random_weights(tiny);
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
  for (std::int32_t i = 0; i < 12; ++i) {
    inputs.push_back(i * 7 % 40);
    targets.push_back(i * 11 % 40);
  }
  const LossAndGradients exact = transformer_reference(tiny, weights, inputs, targets);
  const ParameterLayout layout(tiny);
  constexpr double h = 1e-5;
  // A few of each tensor.
  std::vector<ParameterSpan> spans = {layout.embedding, layout.norm, layout.head};
  for (const LayerParameters& layer : layout.layers)
    for (const ParameterSpan& span :
         {layer.attention_norm, layer.qkv, layer.out, layer.mlp_norm, layer.gate_up, layer.down})
      spans.push_back(span);
  int compared = 0;
  for (const ParameterSpan& span : spans)
    for (std::int64_t i = span.count / 7; i < span.count; i += span.count / 3 + 1) {
      const auto at = static_cast<std::size_t>(span.first + i);
      const double kept = weights[at];
      weights[at] = kept + h;
      const double above = transformer_reference(tiny, weights, inputs, targets).loss;
      weights[at] = kept - h;
      const double below = transformer_reference(tiny, weights, inputs, targets).loss;
      weights[at] = kept;
      EXPECT_NEAR(exact.gradients[at], (above - below) / (2 * h), 1e-8) << "parameter " << at;
      ++compared;
    }
  EXPECT_GE(compared, 40);
}

class OnTheHost : public ::testing::Test {
 protected:
  void wait() { stream_->wait(kernels::Duration(60)); }

  std::vector<double> values(const kernels::Slice& slice, DataType type) {
    std::vector<std::byte> stored(slice.size_bytes);
    device_.download(*stream_, stored, slice);
    return kernels::decode(type, stored, slice.size_bytes / kernels::storage_bytes(type, 1));
  }

  std::unique_ptr<kernels::Platform> platform_ = kernels::open_platform({});
  kernels::Device& device_ = *platform_->devices()[0];
  std::unique_ptr<kernels::Stream> stream_ = device_.make_stream();
};

TEST_F(OnTheHost, LossAndGradientsAreTheReference) {
  Transformer model(device_, *stream_, tiny, 3, 0);
  const ParameterSpan all{0, model.parameters().count};
  const std::vector<double> weights = values(model.weights(all), model.type());
  model.forward(*stream_);
  model.backward_tail(*stream_);
  for (std::size_t i = model.parameters().layers.size(); i-- > 0;) model.backward_layer(*stream_, i);
  model.backward_embedding(*stream_);
  wait();
  const LossAndGradients expected = transformer_reference(tiny, weights, model.inputs(), model.targets());
  EXPECT_NEAR(model.loss(*stream_), expected.loss, 1e-5);
  const std::vector<double> gradients = values(model.gradient(all), model.type());
  double largest = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    ASSERT_NEAR(gradients[i], expected.gradients[i], 1e-6) << "parameter " << i;
    largest = std::max(largest, std::abs(expected.gradients[i]));
  }
  EXPECT_GT(largest, 1e-3);  // there was something to compare
}

TEST_F(OnTheHost, LossFallsOnAFixedTask) {
  Transformer model(device_, *stream_, tiny, 3, 0);
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    model.forward(*stream_);
    model.backward_tail(*stream_);
    for (std::size_t i = model.parameters().layers.size(); i-- > 0;) model.backward_layer(*stream_, i);
    model.backward_embedding(*stream_);
    model.update(*stream_, 0.02F, 1);
    wait();
    losses.push_back(model.loss(*stream_));
  }
  EXPECT_NEAR(losses.front(), std::log(40.0), 1.5);
  EXPECT_LT(losses.back(), 0.2 * losses.front());
}

TEST_F(OnTheHost, UpdateIsAdamW) {
  Transformer model(device_, *stream_, tiny, 3, 0);
  const ParameterSpan all{0, model.parameters().count};
  const std::vector<double> before = values(model.master(all), DataType::fp32);
  model.forward(*stream_);
  model.backward_tail(*stream_);
  for (std::size_t i = model.parameters().layers.size(); i-- > 0;) model.backward_layer(*stream_, i);
  model.backward_embedding(*stream_);
  model.update(*stream_, 0.01F, 2);
  wait();
  const std::vector<double> gradients = values(model.gradient(all), model.type());
  const std::vector<double> after = values(model.master(all), DataType::fp32);
  const std::vector<double> weights = values(model.weights(all), model.type());
  for (std::size_t i = 0; i < after.size(); ++i) {
    // The first step: both moments are the slope (squared) after the correction of their bias.
    const double slope = gradients[i] / 2;
    const double expected = before[i] * (1 - 0.01 * 0.1) - 0.01 * slope / (std::abs(slope) + 1e-8);
    ASSERT_NEAR(after[i], expected, 2e-6 * std::max(1.0, std::abs(expected))) << "parameter " << i;
    ASSERT_EQ(weights[i], after[i]);
  }
}

TEST_F(OnTheHost, EachRankHasTheSameWeightsAndAnotherText) {
  Transformer first(device_, *stream_, tiny, 3, 0);
  Transformer second(device_, *stream_, tiny, 3, 1);
  const ParameterSpan all{0, first.parameters().count};
  EXPECT_EQ(values(first.weights(all), first.type()), values(second.weights(all), second.type()));
  EXPECT_NE(std::vector(first.inputs().begin(), first.inputs().end()),
            std::vector(second.inputs().begin(), second.inputs().end()));
}

}  // namespace
}  // namespace claimcheck::bench

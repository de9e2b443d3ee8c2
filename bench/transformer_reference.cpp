#include "bench/transformer_reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace claimcheck::bench {

namespace {

using Values = std::vector<double>;

// Rows of `width` values.
struct Matrix {
  Matrix(std::int64_t row_count, std::int64_t width_of_rows)
      : rows(row_count), width(width_of_rows), values(static_cast<std::size_t>(row_count * width_of_rows), 0.0) {}
  double& at(std::int64_t row, std::int64_t column) { return values[static_cast<std::size_t>(row * width + column)]; }
  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * width + column)];
  }
  std::int64_t rows;
  std::int64_t width;
  Values values;
};

// A weight inside the flat buffer, or its gradient.
struct View {
  double* values;
  std::int64_t width;
  double& at(std::int64_t row, std::int64_t column) const { return values[row * width + column]; }
};

Matrix linear(const Matrix& x, View w) {
  Matrix y(x.rows, w.width);
  const double scale = 1 / std::sqrt(static_cast<double>(x.width));
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t i = 0; i < x.width; ++i)
      for (std::int64_t o = 0; o < w.width; ++o) y.at(r, o) += scale * x.at(r, i) * w.at(i, o);
  return y;
}

Matrix linear_backward(const Matrix& dy, const Matrix& x, View w, View dw) {
  Matrix dx(x.rows, x.width);
  const double scale = 1 / std::sqrt(static_cast<double>(x.width));
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t i = 0; i < x.width; ++i)
      for (std::int64_t o = 0; o < w.width; ++o) {
        dx.at(r, i) += scale * dy.at(r, o) * w.at(i, o);
        dw.at(i, o) += scale * x.at(r, i) * dy.at(r, o);
      }
  return dx;
}

double inverse_rms(const Matrix& x, std::int64_t row) {
  double squares = 0;
  for (std::int64_t i = 0; i < x.width; ++i) squares += x.at(row, i) * x.at(row, i);
  return 1 / std::sqrt(squares / static_cast<double>(x.width) + 1e-5);
}

Matrix norm(const Matrix& x, View weight) {
  Matrix y(x.rows, x.width);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t i = 0; i < x.width; ++i) y.at(r, i) = x.at(r, i) * inverse_rms(x, r) * weight.at(0, i);
  return y;
}

// Adds to dx.
void norm_backward(const Matrix& dy, const Matrix& x, View weight, View dweight, Matrix& dx) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const double inverse = inverse_rms(x, r);
    double mean = 0;
    for (std::int64_t i = 0; i < x.width; ++i)
      mean += dy.at(r, i) * weight.at(0, i) * x.at(r, i) * inverse / static_cast<double>(x.width);
    for (std::int64_t i = 0; i < x.width; ++i) {
      const double normal = x.at(r, i) * inverse;
      dx.at(r, i) += inverse * (dy.at(r, i) * weight.at(0, i) - normal * mean);
      dweight.at(0, i) += dy.at(r, i) * normal;
    }
  }
}

void add(const Matrix& x, Matrix& y) {
  for (std::size_t i = 0; i < x.values.size(); ++i) y.values[i] += x.values[i];
}

struct Layer {
  Matrix input;
  Matrix attention_normal{0, 0};
  Matrix qkv{0, 0};
  Matrix probabilities{0, 0};
  Matrix context{0, 0};
  Matrix middle{0, 0};
  Matrix mlp_normal{0, 0};
  Matrix gate_up{0, 0};
  Matrix active{0, 0};
};

class Reference {
 public:
  Reference(const TransformerShape& shape, std::span<const double> weights)
      : shape_(shape), layout_(shape), weights_(weights.begin(), weights.end()), gradients_(weights.size(), 0.0) {}

  LossAndGradients run(std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) {
    const std::int64_t w = shape_.width;
    const View table = weight(layout_.embedding, w);
    Matrix x(shape_.tokens(), w);
    for (std::int64_t r = 0; r < x.rows; ++r)
      for (std::int64_t i = 0; i < w; ++i) x.at(r, i) = table.at(inputs[static_cast<std::size_t>(r)], i);
    for (const LayerParameters& layer : layout_.layers) x = forward(layer, std::move(x));
    const Matrix normal = norm(x, weight(layout_.norm, w));
    Matrix logits = linear(normal, weight(layout_.head, shape_.vocabulary));
    LossAndGradients result;
    result.loss = cross_entropy(logits, targets);

    const Matrix d_normal = linear_backward(logits, normal, weight(layout_.head, shape_.vocabulary),
                                            gradient(layout_.head, shape_.vocabulary));
    Matrix dx(shape_.tokens(), w);
    norm_backward(d_normal, x, weight(layout_.norm, w), gradient(layout_.norm, w), dx);
    for (std::size_t i = layers_.size(); i-- > 0;) backward(layout_.layers[i], layers_[i], dx);
    const View d_table = gradient(layout_.embedding, w);
    for (std::int64_t r = 0; r < dx.rows; ++r)
      for (std::int64_t i = 0; i < w; ++i) d_table.at(inputs[static_cast<std::size_t>(r)], i) += dx.at(r, i);
    result.gradients = gradients_;
    return result;
  }

 private:
  View weight(const ParameterSpan& span, std::int64_t width) { return {weights_.data() + span.first, width}; }
  View gradient(const ParameterSpan& span, std::int64_t width) { return {gradients_.data() + span.first, width}; }

  Matrix forward(const LayerParameters& parameters, Matrix x) {
    const std::int64_t w = shape_.width;
    Layer layer{.input = std::move(x)};
    layer.attention_normal = norm(layer.input, weight(parameters.attention_norm, w));
    layer.qkv = linear(layer.attention_normal, weight(parameters.qkv, 3 * w));
    turn(layer.qkv, 1);
    attention(layer);
    layer.middle = linear(layer.context, weight(parameters.out, w));
    add(layer.input, layer.middle);
    layer.mlp_normal = norm(layer.middle, weight(parameters.mlp_norm, w));
    layer.gate_up = linear(layer.mlp_normal, weight(parameters.gate_up, 2 * shape_.hidden));
    layer.active = Matrix(shape_.tokens(), shape_.hidden);
    for (std::int64_t r = 0; r < layer.active.rows; ++r)
      for (std::int64_t i = 0; i < shape_.hidden; ++i) {
        const double gate = layer.gate_up.at(r, i);
        layer.active.at(r, i) = gate / (1 + std::exp(-gate)) * layer.gate_up.at(r, i + shape_.hidden);
      }
    Matrix y = linear(layer.active, weight(parameters.down, w));
    add(layer.middle, y);
    layers_.push_back(std::move(layer));
    return y;
  }

  // Rotates queries and keys of every head by their position, or back.
  void turn(Matrix& qkv, double direction) const {
    const std::int64_t head = shape_.head();
    for (std::int64_t r = 0; r < qkv.rows; ++r)
      for (std::int64_t h = 0; h < 2 * shape_.heads; ++h)
        for (std::int64_t i = 0; i < head / 2; ++i) {
          const double frequency = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(head));
          const double angle = direction * static_cast<double>(r % shape_.sequence) * frequency;
          double& low = qkv.at(r, h * head + i);
          double& high = qkv.at(r, h * head + i + head / 2);
          const double a = low;
          low = a * std::cos(angle) - high * std::sin(angle);
          high = a * std::sin(angle) + high * std::cos(angle);
        }
  }

  void attention(Layer& layer) const {
    const std::int64_t head = shape_.head();
    layer.probabilities = Matrix(shape_.tokens() * shape_.heads, shape_.sequence);
    layer.context = Matrix(shape_.tokens(), shape_.width);
    each_pair([&](std::int64_t row, std::int64_t other, std::int64_t h, std::int64_t p, std::int64_t j) {
      double score = 0;
      for (std::int64_t i = 0; i < head; ++i)
        score += layer.qkv.at(row, h * head + i) * layer.qkv.at(other, shape_.width + h * head + i);
      layer.probabilities.at(p, j) = std::exp(score / std::sqrt(static_cast<double>(head)));
    });
    for (std::int64_t p = 0; p < layer.probabilities.rows; ++p) {
      double sum = 0;
      for (std::int64_t j = 0; j < shape_.sequence; ++j) sum += layer.probabilities.at(p, j);
      for (std::int64_t j = 0; j < shape_.sequence; ++j) layer.probabilities.at(p, j) /= sum;
    }
    each_pair([&](std::int64_t row, std::int64_t other, std::int64_t h, std::int64_t p, std::int64_t j) {
      for (std::int64_t i = 0; i < head; ++i)
        layer.context.at(row, h * head + i) +=
            layer.probabilities.at(p, j) * layer.qkv.at(other, 2 * shape_.width + h * head + i);
    });
  }

  // use(row, other row, head, row of probabilities, column of it) for all rows that `row` may look at.
  template <class Use>
  void each_pair(Use use) const {
    const std::int64_t s = shape_.sequence;
    for (std::int64_t b = 0; b < shape_.batch; ++b)
      for (std::int64_t h = 0; h < shape_.heads; ++h)
        for (std::int64_t i = 0; i < s; ++i)
          for (std::int64_t j = 0; j <= i; ++j) use(b * s + i, b * s + j, h, (b * shape_.heads + h) * s + i, j);
  }

  // The gradient of the context becomes that of queries, keys and values.
  Matrix attention_backward(const Layer& layer, const Matrix& d_context) const {
    const std::int64_t head = shape_.head();
    const std::int64_t w = shape_.width;
    Matrix d_qkv(shape_.tokens(), 3 * w);
    Matrix d_p(layer.probabilities.rows, shape_.sequence);
    Values mean(static_cast<std::size_t>(d_p.rows), 0.0);
    each_pair([&](std::int64_t row, std::int64_t other, std::int64_t h, std::int64_t p, std::int64_t j) {
      for (std::int64_t i = 0; i < head; ++i) {
        d_p.at(p, j) += d_context.at(row, h * head + i) * layer.qkv.at(other, 2 * w + h * head + i);
        d_qkv.at(other, 2 * w + h * head + i) += layer.probabilities.at(p, j) * d_context.at(row, h * head + i);
      }
      mean[static_cast<std::size_t>(p)] += layer.probabilities.at(p, j) * d_p.at(p, j);
    });
    each_pair([&](std::int64_t row, std::int64_t other, std::int64_t h, std::int64_t p, std::int64_t j) {
      const double slope = layer.probabilities.at(p, j) * (d_p.at(p, j) - mean[static_cast<std::size_t>(p)]) /
                           std::sqrt(static_cast<double>(head));
      for (std::int64_t i = 0; i < head; ++i) {
        d_qkv.at(row, h * head + i) += slope * layer.qkv.at(other, w + h * head + i);
        d_qkv.at(other, w + h * head + i) += slope * layer.qkv.at(row, h * head + i);
      }
    });
    turn(d_qkv, -1);
    return d_qkv;
  }

  // dx: of the layer's output, then of its input.
  void backward(const LayerParameters& parameters, const Layer& layer, Matrix& dx) {
    const std::int64_t w = shape_.width;
    const Matrix d_active = linear_backward(dx, layer.active, weight(parameters.down, w), gradient(parameters.down, w));
    Matrix d_gate_up(shape_.tokens(), 2 * shape_.hidden);
    for (std::int64_t r = 0; r < d_active.rows; ++r)
      for (std::int64_t i = 0; i < shape_.hidden; ++i) {
        const double gate = layer.gate_up.at(r, i);
        const double sigmoid = 1 / (1 + std::exp(-gate));
        d_gate_up.at(r, i) =
            d_active.at(r, i) * layer.gate_up.at(r, i + shape_.hidden) * (sigmoid + gate * sigmoid * (1 - sigmoid));
        d_gate_up.at(r, i + shape_.hidden) = d_active.at(r, i) * gate * sigmoid;
      }
    const Matrix d_mlp = linear_backward(d_gate_up, layer.mlp_normal, weight(parameters.gate_up, 2 * shape_.hidden),
                                         gradient(parameters.gate_up, 2 * shape_.hidden));
    norm_backward(d_mlp, layer.middle, weight(parameters.mlp_norm, w), gradient(parameters.mlp_norm, w), dx);
    const Matrix d_context = linear_backward(dx, layer.context, weight(parameters.out, w), gradient(parameters.out, w));
    const Matrix d_qkv = attention_backward(layer, d_context);
    const Matrix d_normal =
        linear_backward(d_qkv, layer.attention_normal, weight(parameters.qkv, 3 * w), gradient(parameters.qkv, 3 * w));
    norm_backward(d_normal, layer.input, weight(parameters.attention_norm, w), gradient(parameters.attention_norm, w),
                  dx);
  }

  // Mean loss; the logits become its gradient.
  static double cross_entropy(Matrix& logits, std::span<const std::int32_t> targets) {
    double loss = 0;
    const auto rows = static_cast<double>(logits.rows);
    for (std::int64_t r = 0; r < logits.rows; ++r) {
      const std::int32_t target = targets[static_cast<std::size_t>(r)];
      double sum = 0;
      for (std::int64_t c = 0; c < logits.width; ++c) sum += std::exp(logits.at(r, c));
      loss += (std::log(sum) - logits.at(r, target)) / rows;
      for (std::int64_t c = 0; c < logits.width; ++c)
        logits.at(r, c) = (std::exp(logits.at(r, c)) / sum - (c == target ? 1 : 0)) / rows;
    }
    return loss;
  }

  TransformerShape shape_;
  ParameterLayout layout_;
  Values weights_;
  Values gradients_;
  std::vector<Layer> layers_;
};

}  // namespace

LossAndGradients transformer_reference(const TransformerShape& shape, std::span<const double> weights,
                                       std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) {
  return Reference(shape, weights).run(inputs, targets);
}

}  // namespace claimcheck::bench

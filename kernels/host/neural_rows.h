// The operations of kernels/neural.h on one row of fp32 values, for one thread. Pure; sums are kept in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace claimcheck::kernels::host::rows {

inline double dot(const float* x, const float* y, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

inline void add(const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
}

// Returns 1 / sqrt(mean(x^2) + 1e-5).
inline float rms_norm(const float* x, const float* weight, float* y, std::int64_t width) {
  const auto inverse = static_cast<float>(1 / std::sqrt(dot(x, x, width) / static_cast<double>(width) + 1e-5));
  for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * inverse * weight[i];
  return inverse;
}

inline void rms_norm_backward(const float* dy, const float* x, const float* weight, float inverse, float* dx,
                              bool accumulate, std::int64_t width) {
  double products = 0;
  for (std::int64_t i = 0; i < width; ++i) products += static_cast<double>(dy[i] * weight[i]) * (x[i] * inverse);
  const auto mean = static_cast<float>(products / static_cast<double>(width));
  for (std::int64_t i = 0; i < width; ++i) {
    const float gradient = inverse * (dy[i] * weight[i] - x[i] * inverse * mean);
    dx[i] = accumulate ? dx[i] + gradient : gradient;
  }
}

// One head's pairs at a position; direction is 1, or -1 to turn back.
inline void rotary(float* x, std::int64_t head, std::int64_t position, double direction) {
  const std::int64_t half = head / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(head));
    const double angle = direction * static_cast<double>(position) * frequency;
    const auto sine = static_cast<float>(std::sin(angle));
    const auto cosine = static_cast<float>(std::cos(angle));
    const float a = x[i];
    const float b = x[i + half];
    x[i] = a * cosine - b * sine;
    x[i + half] = a * sine + b * cosine;
  }
}

// Turns `count` values into their exponentials above the largest; returns the largest and the sum.
struct Exponentials {
  float most;
  double sum;
};
inline Exponentials exponentials(float* x, std::int64_t count) {
  const float most = *std::max_element(x, x + count);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = std::exp(x[i] - most);
    sum += static_cast<double>(x[i]);
  }
  return {most, sum};
}

inline void softmax(float* x, std::int64_t count, std::int64_t width) {
  const auto scale = static_cast<float>(1 / exponentials(x, count).sum);
  for (std::int64_t i = 0; i < count; ++i) x[i] *= scale;
  std::fill(x + count, x + width, 0.0F);
}

inline void softmax_backward(const float* p, float* dy, std::int64_t width) {
  const auto products = static_cast<float>(dot(p, dy, width));
  for (std::int64_t i = 0; i < width; ++i) dy[i] = p[i] * (dy[i] - products);
}

inline void swiglu(const float* x, float* y, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] / (1 + std::exp(-x[i])) * x[i + width];
}

inline void swiglu_backward(const float* dy, const float* x, float* dx, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    const float gate = x[i];
    const float sigmoid = 1 / (1 + std::exp(-gate));
    dx[i] = dy[i] * x[i + width] * sigmoid * (1 + gate * (1 - sigmoid));
    dx[i + width] = dy[i] * gate * sigmoid;
  }
}

// Returns the loss; the logits become their gradient.
inline float cross_entropy(float* logits, std::int64_t target, std::int64_t classes, float scale) {
  const float of_target = logits[target];
  const auto [most, sum] = exponentials(logits, classes);
  const auto factor = static_cast<float>(scale / sum);
  for (std::int64_t i = 0; i < classes; ++i) logits[i] *= factor;
  logits[target] -= scale;
  return static_cast<float>(std::log(sum) + static_cast<double>(most) - static_cast<double>(of_target));
}

}  // namespace claimcheck::kernels::host::rows

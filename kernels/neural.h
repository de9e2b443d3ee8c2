// Operations of a transformer's training step on one device, forward and backward, as bench/training composes them.
// Included by device.h. All matrices are row-major; "rows" are tokens. Weights, activations and gradients are of type()
// (bf16 on GPUs that multiply it, fp32 elsewhere); sums inside an operation are kept in fp32 at least. What is fp32
// whatever type() is, is said. Every call enqueues and returns; slices of one call do not overlap unless said.
#pragma once

#include <cstdint>

#include "kernels/data_type.h"

namespace claimcheck::kernels {

class Stream;
struct Slice;

// C = alpha op(A) op(B), or C += with `accumulate`; op(A) is m x k, op(B) k x n. A leading dimension is the distance of
// rows in elements (0: the matrix is dense). `batch` products lie `stride` elements apart (0: the same operand).
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  bool accumulate = false;
  std::int64_t leading_a = 0;
  std::int64_t leading_b = 0;
  std::int64_t leading_c = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
};

// Loshchilov, Hutter, "Decoupled weight decay regularization", 2019, with bias correction for `step` = 1, 2, ...
struct AdamW {
  float learning_rate = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float weight_decay = 0.1F;
  float gradient_scale = 1;  // what gradients are multiplied with first: 1 / ranks after a summing all-reduce
  std::int64_t step = 1;
};

class Neural {
 public:
  virtual ~Neural() = default;

  virtual DataType type() const = 0;

  virtual void product(Stream& stream, const Product& product, Slice a, Slice b, Slice c) = 0;

  // Row i of y is row tokens[i] (int32) of table (`width` wide); backward adds to the table's gradient, in any order.
  virtual void embed(Stream& stream, Slice table, Slice tokens, Slice y, std::int64_t rows, std::int64_t width) = 0;
  virtual void embed_backward(Stream& stream, Slice dy, Slice tokens, Slice dtable, std::int64_t rows,
                              std::int64_t width) = 0;

  // y = x / sqrt(mean(x^2) + 1e-5) * weight, row by row; `inverse_rms` (fp32, a value a row) is kept for backward.
  // Zhang, Sennrich, "Root mean square layer normalization", 2019. Backward writes dx, or adds to it, and writes
  // dweight.
  virtual void rms_norm(Stream& stream, Slice x, Slice weight, Slice y, Slice inverse_rms, std::int64_t rows,
                        std::int64_t width) = 0;
  virtual void rms_norm_backward(Stream& stream, Slice dy, Slice x, Slice weight, Slice inverse_rms, Slice dx,
                                 bool accumulate, Slice dweight, std::int64_t rows, std::int64_t width) = 0;

  // Rotates pairs (x[i], x[i + head/2]) of each head by position x 10000^(-2 i / head), in place; `inverse` turns back,
  // which is also the backward pass. Row r is at position r % sequence; rows are `leading` elements apart. Su et al.,
  // "RoFormer", 2021.
  virtual void rotary(Stream& stream, Slice x, std::int64_t rows, std::int64_t heads, std::int64_t head,
                      std::int64_t leading, std::int64_t sequence, bool inverse) = 0;

  // Softmax over the first i + 1 values of row i % sequence of `rows` rows of `sequence` scores, the others become 0;
  // in place. Backward turns dy into dx = p (dy - sum(p dy)), in place, p being what forward left.
  virtual void causal_softmax(Stream& stream, Slice scores, std::int64_t rows, std::int64_t sequence) = 0;
  virtual void causal_softmax_backward(Stream& stream, Slice p, Slice dy, std::int64_t rows, std::int64_t sequence) = 0;

  // x holds rows of 2 `width` values, gate then up: y = gate / (1 + exp(-gate)) * up. Shazeer, "GLU variants improve
  // transformer", 2020.
  virtual void swiglu(Stream& stream, Slice x, Slice y, std::int64_t rows, std::int64_t width) = 0;
  virtual void swiglu_backward(Stream& stream, Slice dy, Slice x, Slice dx, std::int64_t rows, std::int64_t width) = 0;

  // loss[i] (fp32) = log(sum(exp(row))) - row[targets[i]]; the logits become their own gradient, (softmax - one hot) x
  // `scale`, in place.
  virtual void cross_entropy(Stream& stream, Slice logits, Slice targets, Slice loss, std::int64_t rows,
                             std::int64_t classes, float scale) = 0;

  virtual void add(Stream& stream, Slice x, Slice y, std::int64_t count) = 0;  // y += x
  virtual void zero(Stream& stream, Slice x) = 0;

  // One step on `count` parameters: master, first and second moment are fp32, gradient and weights of type(); weights
  // are written anew from the master copy.
  virtual void adamw(Stream& stream, const AdamW& settings, Slice master, Slice first, Slice second, Slice gradient,
                     Slice weights, std::int64_t count) = 0;
};

}  // namespace claimcheck::kernels

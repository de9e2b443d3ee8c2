// Kernels of a transformer's training step (kernels/neural.h). T is float or __nv_bfloat16; arithmetic is fp32. A block
// works on one row at a time where a row is reduced, so that a row's sum is always made in the same order.
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>

namespace claimcheck::kernels::cuda {

inline constexpr int neural_threads = 256;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline void store(float* target, float value) { *target = value; }
__device__ inline void store(__nv_bfloat16* target, float value) { *target = __float2bfloat16_rn(value); }

// Over a block of neural_threads, on every thread.
template <bool maximum>
__device__ inline float block_reduce(float mine) {
  __shared__ float of_warps[neural_threads / 32];
  for (int bits = 16; bits > 0; bits /= 2) {
    const float other = __shfl_xor_sync(0xffffffffU, mine, bits);
    mine = maximum ? fmaxf(mine, other) : mine + other;
  }
  __syncthreads();  // an earlier call may still be reading
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  float result = of_warps[0];
  for (int i = 1; i < neural_threads / 32; ++i) result = maximum ? fmaxf(result, of_warps[i]) : result + of_warps[i];
  return result;
}

__device__ inline std::int64_t first_of_grid() { return std::int64_t{blockIdx.x} * neural_threads + threadIdx.x; }
__device__ inline std::int64_t stride_of_grid() { return std::int64_t{gridDim.x} * neural_threads; }

template <class T>
__global__ void __launch_bounds__(neural_threads)
    embed_forward(const T* table, const std::int32_t* tokens, T* y, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* source = table + tokens[row] * width;
    for (std::int64_t i = threadIdx.x; i < width; i += neural_threads) y[row * width + i] = source[i];
  }
}

// A block for each row of the table looks for the tokens that used it: no two blocks add to the same place, and the
// order of additions is that of the tokens.
template <class T>
__global__ void __launch_bounds__(neural_threads)
    embed_gradient(const T* dy, const std::int32_t* tokens, T* dtable, std::int64_t rows, std::int64_t width,
                   std::int64_t entries) {
  for (std::int64_t entry = blockIdx.x; entry < entries; entry += gridDim.x)
    for (std::int64_t row = 0; row < rows; ++row) {
      if (tokens[row] != entry) continue;
      for (std::int64_t i = threadIdx.x; i < width; i += neural_threads)
        store(dtable + entry * width + i, to_float(dtable[entry * width + i]) + to_float(dy[row * width + i]));
    }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    rms_norm_forward(const T* x, const T* weight, T* y, float* inverse_rms, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * width;
    float squares = 0;
    for (std::int64_t i = threadIdx.x; i < width; i += neural_threads) squares += to_float(in[i]) * to_float(in[i]);
    const float inverse = 1.0F / sqrtf(block_reduce<false>(squares) / static_cast<float>(width) + 1e-5F);
    for (std::int64_t i = threadIdx.x; i < width; i += neural_threads)
      store(y + row * width + i, to_float(in[i]) * inverse * to_float(weight[i]));
    if (threadIdx.x == 0) inverse_rms[row] = inverse;
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    rms_norm_gradient(const T* dy, const T* x, const T* weight, const float* inverse_rms, T* dx, bool accumulate,
                      std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t first = row * width;
    const float inverse = inverse_rms[row];
    float products = 0;
    for (std::int64_t i = threadIdx.x; i < width; i += neural_threads)
      products += to_float(dy[first + i]) * to_float(weight[i]) * to_float(x[first + i]) * inverse;
    const float mean = block_reduce<false>(products) / static_cast<float>(width);
    for (std::int64_t i = threadIdx.x; i < width; i += neural_threads) {
      const float normal = to_float(x[first + i]) * inverse;
      const float gradient = inverse * (to_float(dy[first + i]) * to_float(weight[i]) - normal * mean);
      store(dx + first + i, accumulate ? to_float(dx[first + i]) + gradient : gradient);
    }
  }
}

inline constexpr int weight_columns = 32;  // of a block; its other dimension shares the rows

template <class T>
__global__ void __launch_bounds__(neural_threads)
    rms_norm_weight_gradient(const T* dy, const T* x, const float* inverse_rms, T* dweight, std::int64_t rows,
                             std::int64_t width) {
  constexpr int parts = neural_threads / weight_columns;
  __shared__ float sums[parts][weight_columns];
  const int column_of_block = static_cast<int>(threadIdx.x) % weight_columns;
  const int part = static_cast<int>(threadIdx.x) / weight_columns;
  const std::int64_t column = std::int64_t{blockIdx.x} * weight_columns + column_of_block;
  float sum = 0;
  if (column < width)
    for (std::int64_t row = part; row < rows; row += parts)
      sum += to_float(dy[row * width + column]) * to_float(x[row * width + column]) * inverse_rms[row];
  sums[part][column_of_block] = sum;
  __syncthreads();
  if (part != 0 || column >= width) return;
  for (int other = 1; other < parts; ++other) sum += sums[other][column_of_block];
  store(dweight + column, sum);
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    rotary_turn(T* x, std::int64_t rows, std::int64_t heads, std::int64_t head, std::int64_t leading,
                std::int64_t sequence, float direction) {
  const std::int64_t half = head / 2;
  const std::int64_t pairs = rows * heads * half;
  for (std::int64_t pair = first_of_grid(); pair < pairs; pair += stride_of_grid()) {
    const std::int64_t i = pair % half;
    const std::int64_t row = pair / (half * heads);
    T* const low = x + row * leading + pair / half % heads * head + i;
    T* const high = low + half;
    // 10000^(-2 i / head), by the logarithm of 10000 to base 2.
    const float frequency = exp2f(-13.287712379549449F * 2.0F * static_cast<float>(i) / static_cast<float>(head));
    const float angle = direction * static_cast<float>(row % sequence) * frequency;
    const float sine = sinf(angle);
    const float cosine = cosf(angle);
    const float a = to_float(*low);
    const float b = to_float(*high);
    store(low, a * cosine - b * sine);
    store(high, a * sine + b * cosine);
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    causal_softmax_forward(T* scores, std::int64_t rows, std::int64_t sequence) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* const values = scores + row * sequence;
    const std::int64_t count = row % sequence + 1;
    float most = -INFINITY;
    for (std::int64_t i = threadIdx.x; i < count; i += neural_threads) most = fmaxf(most, to_float(values[i]));
    most = block_reduce<true>(most);
    float sum = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += neural_threads) sum += expf(to_float(values[i]) - most);
    sum = block_reduce<false>(sum);
    for (std::int64_t i = threadIdx.x; i < sequence; i += neural_threads)
      store(values + i, i < count ? expf(to_float(values[i]) - most) / sum : 0.0F);
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    causal_softmax_gradient(const T* p, T* dy, std::int64_t rows, std::int64_t sequence) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t first = row * sequence;
    float products = 0;
    for (std::int64_t i = threadIdx.x; i < sequence; i += neural_threads)
      products += to_float(p[first + i]) * to_float(dy[first + i]);
    products = block_reduce<false>(products);
    for (std::int64_t i = threadIdx.x; i < sequence; i += neural_threads)
      store(dy + first + i, to_float(p[first + i]) * (to_float(dy[first + i]) - products));
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    swiglu_forward(const T* x, T* y, std::int64_t rows, std::int64_t width) {
  for (std::int64_t i = first_of_grid(); i < rows * width; i += stride_of_grid()) {
    const T* const gate = x + i / width * 2 * width + i % width;
    const float value = to_float(*gate);
    store(y + i, value / (1.0F + expf(-value)) * to_float(gate[width]));
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    swiglu_gradient(const T* dy, const T* x, T* dx, std::int64_t rows, std::int64_t width) {
  for (std::int64_t i = first_of_grid(); i < rows * width; i += stride_of_grid()) {
    const std::int64_t at = i / width * 2 * width + i % width;
    const float gate = to_float(x[at]);
    const float up = to_float(x[at + width]);
    const float sigmoid = 1.0F / (1.0F + expf(-gate));
    const float gradient = to_float(dy[i]);
    store(dx + at, gradient * up * sigmoid * (1.0F + gate * (1.0F - sigmoid)));
    store(dx + at + width, gradient * gate * sigmoid);
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads)
    cross_entropy_both(T* logits, const std::int32_t* targets, float* loss, std::int64_t rows, std::int64_t classes,
                       float scale) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* const values = logits + row * classes;
    float most = -INFINITY;
    for (std::int64_t i = threadIdx.x; i < classes; i += neural_threads) most = fmaxf(most, to_float(values[i]));
    most = block_reduce<true>(most);
    float sum = 0;
    for (std::int64_t i = threadIdx.x; i < classes; i += neural_threads) sum += expf(to_float(values[i]) - most);
    sum = block_reduce<false>(sum);
    const std::int32_t target = targets[row];
    const float of_target = to_float(values[target]);
    __syncthreads();  // all have read it before it is overwritten
    if (threadIdx.x == 0) loss[row] = logf(sum) + most - of_target;
    for (std::int64_t i = threadIdx.x; i < classes; i += neural_threads)
      store(values + i, scale * (expf(to_float(values[i]) - most) / sum - (i == target ? 1.0F : 0.0F)));
  }
}

template <class T>
__global__ void __launch_bounds__(neural_threads) add_to(const T* x, T* y, std::int64_t count) {
  for (std::int64_t i = first_of_grid(); i < count; i += stride_of_grid())
    store(y + i, to_float(x[i]) + to_float(y[i]));
}

// `rate` is the learning rate, `step_size` the one corrected for the bias of the first moment, `scale_second` 1 / the
// bias correction of the second.
struct AdamWFactors {
  float rate;
  float step_size;
  float beta1;
  float beta2;
  float scale_second;
  float epsilon;
  float weight_decay;
  float gradient_scale;
};

template <class T>
__global__ void __launch_bounds__(neural_threads)
    adamw_step(AdamWFactors factors, float* master, float* first, float* second, const T* gradient, T* weights,
               std::int64_t count) {
  for (std::int64_t i = first_of_grid(); i < count; i += stride_of_grid()) {
    const float slope = factors.gradient_scale * to_float(gradient[i]);
    const float mean = factors.beta1 * first[i] + (1.0F - factors.beta1) * slope;
    const float square = factors.beta2 * second[i] + (1.0F - factors.beta2) * slope * slope;
    first[i] = mean;
    second[i] = square;
    const float value = master[i] * (1.0F - factors.rate * factors.weight_decay) -
                        factors.step_size * mean / (sqrtf(square * factors.scale_second) + factors.epsilon);
    master[i] = value;
    store(weights + i, value);
  }
}

}  // namespace claimcheck::kernels::cuda

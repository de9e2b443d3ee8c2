#include <cmath>

#include "kernels/cuda/buffer.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/neural.cuh"
#include "kernels/cuda/neural_product.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

template <class T>
class CudaNeural final : public Neural {
 public:
  explicit CudaNeural(const Gpu& gpu)
      : gpu_(gpu), products_(type(), std::min(workspace_bytes, gpu.facts.memory_bytes / 32)) {}

  DataType type() const override { return sizeof(T) == 2 ? DataType::bf16 : DataType::fp32; }

  void product(Stream& stream, const Product& product, Slice a, Slice b, Slice c) override {
    const Current current(gpu_.ordinal);
    products_.enqueue(cuda(stream).handle(), product, at(a), at(b), at(c));
  }

  void embed(Stream& stream, Slice table, Slice tokens, Slice y, std::int64_t rows, std::int64_t width) override {
    launch_rows(stream, embed_forward<T>, rows, values(table), integers(tokens), values(y), rows, width);
  }

  void embed_backward(Stream& stream, Slice dy, Slice tokens, Slice dtable, std::int64_t rows,
                      std::int64_t width) override {
    const std::int64_t entries = static_cast<std::int64_t>(dtable.size_bytes / sizeof(T)) / width;
    launch_rows(stream, embed_gradient<T>, entries, values(dy), integers(tokens), values(dtable), rows, width, entries);
  }

  void rms_norm(Stream& stream, Slice x, Slice weight, Slice y, Slice inverse_rms, std::int64_t rows,
                std::int64_t width) override {
    launch_rows(stream, rms_norm_forward<T>, rows, values(x), values(weight), values(y), floats(inverse_rms), rows,
                width);
  }

  void rms_norm_backward(Stream& stream, Slice dy, Slice x, Slice weight, Slice inverse_rms, Slice dx, bool accumulate,
                         Slice dweight, std::int64_t rows, std::int64_t width) override {
    const std::int64_t parts = (width + weight_columns - 1) / weight_columns;
    launch(stream, rms_norm_weight_gradient<T>, static_cast<unsigned>(parts), values(dy), values(x),
           floats(inverse_rms), values(dweight), rows, width);
    launch_rows(stream, rms_norm_gradient<T>, rows, values(dy), values(x), values(weight), floats(inverse_rms),
                values(dx), accumulate, rows, width);
  }

  void rotary(Stream& stream, Slice x, std::int64_t rows, std::int64_t heads, std::int64_t head, std::int64_t leading,
              std::int64_t sequence, bool inverse) override {
    launch_elements(stream, rotary_turn<T>, rows * heads * head / 2, values(x), rows, heads, head, leading, sequence,
                    inverse ? -1.0F : 1.0F);
  }

  void causal_softmax(Stream& stream, Slice scores, std::int64_t rows, std::int64_t sequence) override {
    launch_rows(stream, causal_softmax_forward<T>, rows, values(scores), rows, sequence);
  }

  void causal_softmax_backward(Stream& stream, Slice p, Slice dy, std::int64_t rows, std::int64_t sequence) override {
    launch_rows(stream, causal_softmax_gradient<T>, rows, values(p), values(dy), rows, sequence);
  }

  void swiglu(Stream& stream, Slice x, Slice y, std::int64_t rows, std::int64_t width) override {
    launch_elements(stream, swiglu_forward<T>, rows * width, values(x), values(y), rows, width);
  }

  void swiglu_backward(Stream& stream, Slice dy, Slice x, Slice dx, std::int64_t rows, std::int64_t width) override {
    launch_elements(stream, swiglu_gradient<T>, rows * width, values(dy), values(x), values(dx), rows, width);
  }

  void cross_entropy(Stream& stream, Slice logits, Slice targets, Slice loss, std::int64_t rows, std::int64_t classes,
                     float scale) override {
    launch_rows(stream, cross_entropy_both<T>, rows, values(logits), integers(targets), floats(loss), rows, classes,
                scale);
  }

  void add(Stream& stream, Slice x, Slice y, std::int64_t count) override {
    launch_elements(stream, add_to<T>, count, values(x), values(y), count);
  }

  void zero(Stream& stream, Slice x) override {
    const Current current(gpu_.ordinal);
    check(cudaMemsetAsync(at(x), 0, x.size_bytes, cuda(stream).handle()));
  }

  void adamw(Stream& stream, const AdamW& settings, Slice master, Slice first, Slice second, Slice gradient,
             Slice weights, std::int64_t count) override {
    const auto step = static_cast<double>(settings.step);
    const AdamWFactors factors{
        .rate = settings.learning_rate,
        .step_size = static_cast<float>(settings.learning_rate / (1 - std::pow(settings.beta1, step))),
        .beta1 = settings.beta1,
        .beta2 = settings.beta2,
        .scale_second = static_cast<float>(1 / (1 - std::pow(settings.beta2, step))),
        .epsilon = settings.epsilon,
        .weight_decay = settings.weight_decay,
        .gradient_scale = settings.gradient_scale};
    launch_elements(stream, adamw_step<T>, count, factors, floats(master), floats(first), floats(second),
                    values(gradient), values(weights), count);
  }

 private:
  static void* at(const Slice& slice) { return address_of(slice, "a tensor"); }
  static T* values(const Slice& slice) { return static_cast<T*>(at(slice)); }
  static float* floats(const Slice& slice) { return static_cast<float*>(at(slice)); }
  static const std::int32_t* integers(const Slice& slice) { return static_cast<const std::int32_t*>(at(slice)); }

  template <class... Parameters, class... Arguments>
  void launch(Stream& stream, void (*kernel)(Parameters...), unsigned blocks, Arguments... arguments) const {
    const Current current(gpu_.ordinal);
    kernel<<<blocks, neural_threads, 0, cuda(stream).handle()>>>(arguments...);
    check(cudaGetLastError());
  }

  template <class... Parameters, class... Arguments>
  void launch_rows(Stream& stream, void (*kernel)(Parameters...), std::int64_t rows, Arguments... arguments) const {
    const Current current(gpu_.ordinal);
    const Launch where{cuda(stream).handle(), gpu_.facts.compute_units};
    launch(stream, kernel, resident_blocks(where, kernel, neural_threads, static_cast<std::uint64_t>(rows)),
           arguments...);
  }

  template <class... Parameters, class... Arguments>
  void launch_elements(Stream& stream, void (*kernel)(Parameters...), std::int64_t elements,
                       Arguments... arguments) const {
    launch_rows(stream, kernel, (elements + neural_threads - 1) / neural_threads, arguments...);
  }

  const Gpu& gpu_;
  RowMajorProducts products_;
};

}  // namespace

std::unique_ptr<Neural> make_neural(const Gpu& gpu) {
  const Current current(gpu.ordinal);
  if (gpu.capability >= 80) return std::make_unique<CudaNeural<__nv_bfloat16>>(gpu);
  return std::make_unique<CudaNeural<float>>(gpu);
}

}  // namespace claimcheck::kernels::cuda

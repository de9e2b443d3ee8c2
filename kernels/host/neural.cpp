#include "kernels/host/neural.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/host/blas.h"
#include "kernels/host/buffer.h"
#include "kernels/host/neural_rows.h"
#include "kernels/host/stream.h"

namespace claimcheck::kernels::host {

namespace {

// A tensor that work can hold on to.
struct Tensor {
  Region region;
  explicit Tensor(const Slice& slice) : region(region_of(slice, "a tensor")) {}
  float* row(std::int64_t number, std::int64_t width) const { return region.as<float>() + number * width; }
  float* values() const { return region.as<float>(); }
  const std::int32_t* integers() const { return region.as<const std::int32_t>(); }
};

class HostNeural final : public Neural {
 public:
  HostNeural(std::shared_ptr<Team> team, std::vector<int> cores, std::vector<int> all_cpus)
      : team_(std::move(team)), cores_(std::move(cores)), all_cpus_(std::move(all_cpus)) {}

  DataType type() const override { return DataType::fp32; }

  void product(Stream& stream, const Product& product, Slice a, Slice b, Slice c) override {
    host(stream).enqueue([product, a = Tensor(a), b = Tensor(b), c = Tensor(c), cores = cores_,
                          cpus = all_cpus_](const std::stop_token&) {
      multiply_rows(product, a.values(), b.values(), c.values(), cores, cpus);
    });
  }

  void embed(Stream& stream, Slice table, Slice tokens, Slice y, std::int64_t rows, std::int64_t width) override {
    each(stream, rows, [table = Tensor(table), tokens = Tensor(tokens), y = Tensor(y), width](std::int64_t row) {
      const float* const source = table.row(tokens.integers()[row], width);
      std::copy(source, source + width, y.row(row, width));
    });
  }

  // By columns, so that no two threads add to the same place and the order is that of the tokens.
  void embed_backward(Stream& stream, Slice dy, Slice tokens, Slice dtable, std::int64_t rows,
                      std::int64_t width) override {
    each(stream, width,
         [dy = Tensor(dy), tokens = Tensor(tokens), dtable = Tensor(dtable), rows, width](std::int64_t column) {
           for (std::int64_t row = 0; row < rows; ++row)
             dtable.row(tokens.integers()[row], width)[column] += dy.row(row, width)[column];
         });
  }

  void rms_norm(Stream& stream, Slice x, Slice weight, Slice y, Slice inverse_rms, std::int64_t rows,
                std::int64_t width) override {
    each(stream, rows,
         [x = Tensor(x), weight = Tensor(weight), y = Tensor(y), inverse = Tensor(inverse_rms),
          width](std::int64_t row) {
           inverse.values()[row] = rows::rms_norm(x.row(row, width), weight.values(), y.row(row, width), width);
         });
  }

  void rms_norm_backward(Stream& stream, Slice dy, Slice x, Slice weight, Slice inverse_rms, Slice dx, bool accumulate,
                         Slice dweight, std::int64_t rows, std::int64_t width) override {
    each(stream, width,
         [dy = Tensor(dy), x = Tensor(x), inverse = Tensor(inverse_rms), dweight = Tensor(dweight), rows,
          width](std::int64_t column) {
           double sum = 0;
           for (std::int64_t row = 0; row < rows; ++row)
             sum += static_cast<double>(dy.row(row, width)[column] * x.row(row, width)[column] * inverse.values()[row]);
           dweight.values()[column] = static_cast<float>(sum);
         });
    each(stream, rows,
         [dy = Tensor(dy), x = Tensor(x), weight = Tensor(weight), inverse = Tensor(inverse_rms), dx = Tensor(dx),
          accumulate, width](std::int64_t row) {
           rows::rms_norm_backward(dy.row(row, width), x.row(row, width), weight.values(), inverse.values()[row],
                                   dx.row(row, width), accumulate, width);
         });
  }

  void rotary(Stream& stream, Slice x, std::int64_t rows, std::int64_t heads, std::int64_t head, std::int64_t leading,
              std::int64_t sequence, bool inverse) override {
    each(stream, rows,
         [x = Tensor(x), heads, head, leading, sequence, direction = inverse ? -1.0 : 1.0](std::int64_t row) {
           for (std::int64_t h = 0; h < heads; ++h)
             rows::rotary(x.row(row, leading) + h * head, head, row % sequence, direction);
         });
  }

  void causal_softmax(Stream& stream, Slice scores, std::int64_t rows, std::int64_t sequence) override {
    each(stream, rows, [scores = Tensor(scores), sequence](std::int64_t row) {
      rows::softmax(scores.row(row, sequence), row % sequence + 1, sequence);
    });
  }

  void causal_softmax_backward(Stream& stream, Slice p, Slice dy, std::int64_t rows, std::int64_t sequence) override {
    each(stream, rows, [p = Tensor(p), dy = Tensor(dy), sequence](std::int64_t row) {
      rows::softmax_backward(p.row(row, sequence), dy.row(row, sequence), sequence);
    });
  }

  void swiglu(Stream& stream, Slice x, Slice y, std::int64_t rows, std::int64_t width) override {
    each(stream, rows, [x = Tensor(x), y = Tensor(y), width](std::int64_t row) {
      rows::swiglu(x.row(row, 2 * width), y.row(row, width), width);
    });
  }

  void swiglu_backward(Stream& stream, Slice dy, Slice x, Slice dx, std::int64_t rows, std::int64_t width) override {
    each(stream, rows, [dy = Tensor(dy), x = Tensor(x), dx = Tensor(dx), width](std::int64_t row) {
      rows::swiglu_backward(dy.row(row, width), x.row(row, 2 * width), dx.row(row, 2 * width), width);
    });
  }

  void cross_entropy(Stream& stream, Slice logits, Slice targets, Slice loss, std::int64_t rows, std::int64_t classes,
                     float scale) override {
    each(stream, rows,
         [logits = Tensor(logits), targets = Tensor(targets), loss = Tensor(loss), classes, scale](std::int64_t row) {
           loss.values()[row] = rows::cross_entropy(logits.row(row, classes), targets.integers()[row], classes, scale);
         });
  }

  void add(Stream& stream, Slice x, Slice y, std::int64_t count) override {
    spans(stream, count, [x = Tensor(x), y = Tensor(y)](std::int64_t first, std::int64_t length) {
      rows::add(x.values() + first, y.values() + first, length);
    });
  }

  void zero(Stream& stream, Slice x) override {
    host(stream).enqueue(
        [x = Tensor(x)](const std::stop_token&) { std::memset(x.region.address, 0, x.region.size_bytes); });
  }

  void adamw(Stream& stream, const AdamW& settings, Slice master, Slice first, Slice second, Slice gradient,
             Slice weights, std::int64_t count) override {
    const auto step = static_cast<double>(settings.step);
    const auto step_size = static_cast<float>(settings.learning_rate / (1 - std::pow(settings.beta1, step)));
    const auto scale_second = static_cast<float>(1 / (1 - std::pow(settings.beta2, step)));
    spans(stream, count,
          [settings, step_size, scale_second, master = Tensor(master), first = Tensor(first), second = Tensor(second),
           gradient = Tensor(gradient), weights = Tensor(weights)](std::int64_t begin, std::int64_t length) {
            const float decay = 1 - settings.learning_rate * settings.weight_decay;
            for (std::int64_t i = begin; i < begin + length; ++i) {
              const float slope = settings.gradient_scale * gradient.values()[i];
              float& mean = first.values()[i];
              float& square = second.values()[i];
              mean = settings.beta1 * mean + (1 - settings.beta1) * slope;
              square = settings.beta2 * square + (1 - settings.beta2) * slope * slope;
              float& value = master.values()[i];
              value = value * decay - step_size * mean / (std::sqrt(square * scale_second) + settings.epsilon);
              weights.values()[i] = value;
            }
          });
  }

 private:
  // work(first, count) on each thread's share.
  template <class Work>
  void spans(Stream& stream, std::int64_t count, Work work) const {
    host(stream).enqueue([team = team_, count, work = std::move(work)](const std::stop_token&) {
      team->run([&](int thread) {
        const Share share = share_of(static_cast<std::size_t>(count), thread, team->size(), 1);
        work(static_cast<std::int64_t>(share.first), static_cast<std::int64_t>(share.count));
      });
    });
  }

  // work(i) for i = 0 .. count - 1.
  template <class Work>
  void each(Stream& stream, std::int64_t count, Work work) const {
    spans(stream, count, [work = std::move(work)](std::int64_t first, std::int64_t length) {
      for (std::int64_t i = first; i < first + length; ++i) work(i);
    });
  }

  std::shared_ptr<Team> team_;
  std::vector<int> cores_;
  std::vector<int> all_cpus_;
};

}  // namespace

std::unique_ptr<Neural> make_neural(std::shared_ptr<Team> team, std::vector<int> cores, std::vector<int> all_cpus) {
  return std::make_unique<HostNeural>(std::move(team), std::move(cores), std::move(all_cpus));
}

}  // namespace claimcheck::kernels::host

#include "bench/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/facts_json.h"
#include "bench/reference.h"

namespace claimcheck::bench {

using kernels::DataType;
using kernels::Slice;

namespace {

// Of weights with variance 1 (transformer.h); the fixed text is learnt by heart within some steps.
constexpr float learning_rate = 0.01F;

// What two ranks compare: any difference in any bit changes it.
using Digest = std::array<std::uint64_t, 2>;
constexpr Digest start_of_digest = {0xcbf29ce484222325U, 0};

void add(Digest& digest, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    digest[0] = (digest[0] ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    digest[1] += digest[0];
  }
}

// Of each sum over the ranks something: the tail, the first and the last layer, the embedding, up to 4 Mi weights each.
std::vector<ParameterSpan> looked_at(const ParameterLayout& parameters) {
  constexpr std::int64_t most = std::int64_t{1} << 22;
  std::vector<ParameterSpan> spans = {parameters.tail, parameters.layers.back().all, parameters.embedding};
  if (parameters.layers.size() > 1) spans.push_back(parameters.layers.front().all);
  for (ParameterSpan& span : spans) span.count = std::min(span.count, most);
  return spans;
}

}  // namespace

TrainingRun::TrainingRun(Setting& setting, std::span<kernels::Device* const> devices, const TransformerShape& shape,
                         std::shared_ptr<kernels::Group> group)
    : deadline_(setting.options.deadline_seconds),
      lanes_(setting.platform, devices, deadline_),
      kept_group_(setting.group),
      group_(std::move(group)),
      ranks_(group_ ? group_->size() : 1) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const int rank = (group_ ? group_->first_rank() : 0) + static_cast<int>(lane);
    models_.push_back(
        std::make_unique<Transformer>(lanes_.device(lane), lanes_.stream(lane), shape, setting.options.seed, rank));
    if (!group_) continue;
    exchanges_.push_back({lanes_.device(lane).make_stream(), lanes_.device(lane).make_timer()});
    exchange_streams_.push_back(exchanges_.back().stream.get());
  }
  lanes_.wait();
}

void TrainingRun::sum_gradients(const ParameterSpan& span) {
  if (!group_) return;
  std::vector<kernels::Group::Buffers> buffers;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    lanes_.device(lane).order(*exchanges_[lane].stream, lanes_.stream(lane));
    const Slice gradient = models_[lane]->gradient(span);
    buffers.push_back({gradient, gradient});
  }
  group_->enqueue(kernels::Collective::all_reduce, buffers, static_cast<std::size_t>(span.count), models_[0]->type(),
                  exchange_streams_);
}

void TrainingRun::enqueue() {
  const auto everywhere = [this](auto work) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) work(*models_[lane], lanes_.stream(lane));
  };
  const ParameterLayout& parameters = models_[0]->parameters();
  everywhere([](Transformer& model, kernels::Stream& stream) {
    model.forward(stream);
    model.backward_tail(stream);
  });
  sum_gradients(parameters.tail);
  for (std::size_t layer = parameters.layers.size(); layer-- > 0;) {
    everywhere([layer](Transformer& model, kernels::Stream& stream) { model.backward_layer(stream, layer); });
    sum_gradients(parameters.layers[layer].all);
  }
  everywhere([](Transformer& model, kernels::Stream& stream) { model.backward_embedding(stream); });
  sum_gradients(parameters.embedding);
  for (std::size_t lane = 0; lane < exchanges_.size(); ++lane) {
    exchanges_[lane].waiting->start(lanes_.stream(lane));
    lanes_.device(lane).order(lanes_.stream(lane), *exchanges_[lane].stream);
    exchanges_[lane].waiting->stop(lanes_.stream(lane));
  }
  everywhere([this](Transformer& model, kernels::Stream& stream) { model.update(stream, learning_rate, ranks_); });
}

void TrainingRun::wait() {
  if (group_) group_->wait(exchange_streams_, deadline_);
  lanes_.wait();
}

TrainingRun::Step TrainingRun::step() {
  Step step;
  try {
    step.device_seconds = lanes_.run_together([this] { enqueue(); }, [this] { wait(); });
  } catch (...) {
    if (group_) kept_group_.reset();
    throw;
  }
  step.seconds = slowest(step.device_seconds);
  for (const Exchange& exchange : exchanges_)
    step.exposed_seconds = std::max(step.exposed_seconds, exchange.waiting->seconds());
  ++steps_;
  if (steps_ == 1) first_loss_ = mean_loss();
  return step;
}

double TrainingRun::mean_loss() {
  double sum = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) sum += models_[lane]->loss(lanes_.stream(lane));
  return sum / static_cast<double>(lanes_.size());
}

std::vector<std::byte> TrainingRun::stored(std::size_t lane, Slice slice) {
  std::vector<std::byte> bytes(slice.size_bytes);
  lanes_.device(lane).download(lanes_.stream(lane), bytes, slice);
  return bytes;
}

void TrainingRun::verify() {
  last_loss_ = mean_loss();
  if (!std::isfinite(last_loss_))
    throw kernels::wrong_result(fmt::format("the loss after {} steps is {}", steps_, last_loss_));
  if (steps_ > 1 && last_loss_ >= first_loss_)
    throw kernels::wrong_result(
        fmt::format("the loss rose from {:.4f} to {:.4f} in {} steps on a text that never changes", first_loss_,
                    last_loss_, steps_));
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    Digest of_lane = start_of_digest;
    for (const ParameterSpan& span : looked_at(models_[0]->parameters())) add(of_lane, checked_weights(lane, span));
    if (lane == 0) digest_ = of_lane;
    if (of_lane != digest_)
      throw kernels::wrong_result(
          fmt::format("device {} has other weights than device 0 after the same {} steps", lane, steps_));
  }
}

std::vector<std::byte> TrainingRun::checked_weights(std::size_t lane, const ParameterSpan& span) {
  std::vector<std::byte> weights = stored(lane, models_[lane]->weights(span));
  const auto count = static_cast<std::size_t>(span.count);
  const std::vector<double> master = kernels::decode(DataType::fp32, stored(lane, models_[lane]->master(span)), count);
  std::vector<std::byte> expected(weights.size());
  kernels::encode(models_[lane]->type(), master, expected);
  const auto differs = std::mismatch(weights.begin(), weights.end(), expected.begin());
  if (differs.first != weights.end())
    throw kernels::wrong_result(fmt::format(
        "weight {} on device {} is not what its master copy rounds to",
        span.first + (differs.first - weights.begin()) / static_cast<std::ptrdiff_t>(weights.size() / count), lane));
  return weights;
}

std::string TrainingRun::digest() const { return fmt::format("{} {}", digest_[0], digest_[1]); }

void TrainingRun::compare(const std::vector<std::string>& digests, const kernels::World& world) {
  for (std::size_t process = 0; process < digests.size(); ++process)
    if (!digests[process].empty() && digests[process] != digests[0])
      throw kernels::wrong_result(
          fmt::format("process {} on node {} has other weights than process 0 after the same steps", process,
                      world.node_of(static_cast<int>(process))));
}

void TrainingRun::spoil() {
  const std::size_t lane = lanes_.size() - 1;
  flip_bit(lanes_.device(lane), lanes_.stream(lane), models_[lane]->weights(models_[lane]->parameters().tail), 1, 0);
}

nlohmann::json TrainingRun::conditions() const {
  const TransformerShape& s = shape();
  return {{"data_type", to_string(models_[0]->type())},
          {"data_pattern", "normal"},
          {"ranks", ranks_},
          {"model",
           {{"layers", s.layers},
            {"width", s.width},
            {"heads", s.heads},
            {"hidden", s.hidden},
            {"vocabulary", s.vocabulary},
            {"parameters", s.parameters()}}},
          {"sequence", s.sequence},
          {"batch", s.batch},
          {"model_flop", s.step_flop()}};
}

nlohmann::json TrainingRun::evidence() const {
  nlohmann::json evidence = {{"steps", steps_}, {"loss_first", first_loss_}, {"loss_last", last_loss_}};
  if (group_) evidence["group"] = to_json(group_->facts());
  return evidence;
}

}  // namespace claimcheck::bench

#include "harness/advise/step.h"

#include <algorithm>
#include <cmath>

#include "harness/scale/scale.h"

namespace claimcheck::advise {
namespace {

constexpr double gradient_bytes = 2;
constexpr double again = 8.0 / 6;

class Ways {
 public:
  Ways(const Workload& workload, const scale::Machine& machine, double tflops, int nodes)
      : workload_(workload), need_(training_need(workload)), machine_(machine), tflops_(tflops), nodes_(nodes) {
    gpus_ = nodes * machine.fabric.ranks_per_node;
    sequences_ = workload.sequences() / gpus_;
  }

  std::optional<Update> fastest() const {
    std::optional<Update> best;
    if (sequences_ < 1) return best;
    for (const bool sharded : {false, true}) {
      if (sharded && gpus_ == 1) continue;
      for (const bool computed_again : {false, true}) {
        const std::optional<Update> one = way(sharded, computed_again);
        if (one && (!best || one->seconds < best->seconds)) best = one;
      }
    }
    return best;
  }

 private:
  std::optional<Update> way(bool sharded, bool computed_again) const {
    const double fixed = sharded ? need_.states / gpus_ + need_.gathered : need_.states;
    const double room = usable_share * *machine_.memory_bytes - fixed;
    const double fits = std::floor(room / (computed_again ? need_.computed : need_.kept));
    if (fits < 1) return std::nullopt;
    Update update{.gpus = gpus_, .sharded = sharded, .computed_again = computed_again};
    update.micro_batches = static_cast<int>(std::ceil(sequences_ / std::min(fits, sequences_)));
    update.micro_sequences = sequences_ / update.micro_batches;
    const double model_seconds = update.micro_sequences * workload_.sequence *
                                 scale::flops_per_token(workload_.model, workload_.sequence) / (tflops_ * 1e12);
    const double compute = model_seconds * (computed_again ? again : 1);
    update.exposed_seconds = sharded ? update.micro_batches * exposed_when_sharded(compute) : exposed_once(compute);
    update.seconds = update.micro_batches * compute + update.exposed_seconds;
    update.efficiency = update.micro_batches * model_seconds / update.seconds;
    return update;
  }

  double exposed_once(double compute) const {
    if (gpus_ == 1) return 0;
    const scale::Gradients gradients{.bytes = gradient_bytes * workload_.model.parameters};
    return scale::training_step(compute, gradients, [&](double bytes) { return allreduce(bytes); }).exposed_seconds;
  }

  double exposed_when_sharded(double compute) const {
    const double layers = workload_.model.layers;
    const double moved = 1.5 * layers * allreduce(gradient_bytes * workload_.model.parameters / layers);
    return std::max(0.0, moved - compute);
  }

  double allreduce(double bytes) const {
    const auto fit = machine_.measured.find(nodes_);
    if (fit != machine_.measured.end()) return fit->second.seconds(bytes);
    return scale::best(machine_.fabric, nodes_, bytes).seconds;
  }

  const Workload& workload_;
  Need need_;
  const scale::Machine& machine_;
  double tflops_;
  int nodes_;
  int gpus_ = 1;
  double sequences_ = 0;
};

}  // namespace

std::optional<Update> fastest_update(const Workload& workload, const scale::Machine& machine, double tflops,
                                     int nodes) {
  return Ways(workload, machine, tflops, nodes).fastest();
}

}  // namespace claimcheck::advise

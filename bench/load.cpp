#include "bench/load.h"

#include "bench/facts_json.h"

namespace claimcheck::bench {

LoadRun::LoadRun(Setting& setting, std::span<kernels::Device* const> devices, const Make& make)
    : lanes_(setting.platform, devices, kernels::Duration(setting.options.deadline_seconds)) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    loads_.push_back(make(lanes_.device(lane), lanes_.stream(lane), lane));
  lanes_.wait();
  passes_ = find_passes(
      [&](int passes) {
        passes_ = passes;
        return setting.world.max(iterate().seconds);
      },
      wanted_seconds(setting.options));
}

Iteration LoadRun::iterate(std::size_t count) {
  Iteration iteration;
  iteration.idle = loads_.empty();
  if (iteration.idle) return iteration;
  iteration.device_seconds = lanes_.run(
      [this](std::size_t lane, kernels::Stream& stream) {
        for (int pass = 0; pass < passes_; ++pass) loads_[lane]->enqueue(stream);
      },
      count);
  iteration.seconds = slowest(iteration.device_seconds);
  iteration.host_seconds = lanes_.host_seconds();
  return iteration;
}

void LoadRun::verify() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) loads_[lane]->verify(lanes_.stream(lane));
}

void LoadRun::spoil() {
  if (!loads_.empty()) loads_.back()->spoil(lanes_.stream(lanes_.size() - 1));
}

double LoadRun::work() const { return loads_.empty() ? 0 : passes_ * loads_[0]->work(); }

nlohmann::json LoadRun::conditions() const {
  nlohmann::json conditions = loads_.empty() ? nlohmann::json::object() : loads_[0]->conditions();
  conditions["passes"] = passes_;
  return conditions;
}

nlohmann::json LoadRun::evidence() const {
  const kernels::Facts facts = loads_.empty() ? kernels::Facts{} : loads_[0]->facts();
  return facts.empty() ? nlohmann::json::object() : nlohmann::json{{"implementation", to_json(facts)}};
}

Prepared prepared_from(const std::shared_ptr<LoadRun>& run) {
  Prepared prepared;
  prepared.work = run->work();
  prepared.run = [run] { return run->iterate(); };
  prepared.verify = [run] { run->verify(); };
  prepared.spoil = [run] { run->spoil(); };
  prepared.devices = run->devices();
  prepared.conditions = run->conditions();
  prepared.evidence = [run] { return run->evidence(); };
  return prepared;
}

}  // namespace claimcheck::bench

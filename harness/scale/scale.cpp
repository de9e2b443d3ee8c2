#include "harness/scale/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/error.h"
#include "harness/judge/number.h"
#include "harness/report/quantity.h"

namespace claimcheck::scale {
namespace {

using nlohmann::json;

constexpr double state_bytes_per_parameter = 16;  // bf16 weights and gradients, fp32 master weights, two Adam moments

constexpr double far_off = 4;  // a model of so many times the parameters

json optional_number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json fact_json(const Fact& fact) {
  return {{"name", fact.name},
          {"value", optional_number(fact.value)},
          {"unit", fact.unit},
          {"basis", fact.basis},
          {"estimate", fact.estimate}};
}

json fit_json(int nodes, int ranks, const AlphaBeta& fit) {
  return {{"nodes", nodes},
          {"ranks", ranks},
          {"alpha_us", fit.alpha_seconds * 1e6},
          {"beta_gbps", fit.bytes_per_second / 1e9},
          {"points", fit.points},
          {"rms_residual", fit.rms_residual},
          {"worst_residual", fit.worst_residual},
          {"worst_bytes", fit.worst_bytes}};
}

class Builder {
 public:
  Builder(const Document* document, const Catalog& catalog, const ScaleOptions& options)
      : options_(options), machine_(machine_of(document, catalog, options.machine)) {
    if (machine_.is_virtual && !options.allow_virtual) {
      throw UserError(
          "the result was measured on a virtual device, and a virtual figure predicts no real cluster; "
          "--allow-virtual shows it all the same");
    }
    if (options_.nodes.back() > 1 && !machine_.fabric.network_rate) restrict_to_one_node();
  }

  json build() {
    json scale = {{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
                  {"virtual", machine_.is_virtual},
                  {"machine", machine_json()},
                  {"facts", json::array()},
                  {"fits", json::array()},
                  {"allreduce", allreduce_rows()},
                  {"training", training_json()}};
    for (const Fact& fact : machine_.facts) scale["facts"].push_back(fact_json(fact));
    for (const auto& [nodes, fit] : machine_.measured) scale["fits"].push_back(fit_json(nodes, ranks(nodes), fit));
    scale["estimate"] =
        std::any_of(machine_.facts.begin(), machine_.facts.end(), [](const Fact& fact) { return fact.estimate; });
    scale["notes"] = machine_.notes;
    return scale;
  }

 private:
  void restrict_to_one_node() {
    const std::string machine = machine_.instance.empty() ? "this machine" : machine_.instance;
    const std::string remedy = "--network GBITS, what all adapters of a node carry one way in Gb/s";
    if (options_.nodes_asked) {
      throw UserError(fmt::format("the network of {} is not known: give {}, or --nodes 1", machine, remedy));
    }
    options_.nodes = {1};
    machine_.notes.push_back(fmt::format("The network of {} is not known; more nodes need {}.", machine, remedy));
  }

  int ranks(int nodes) const { return nodes * machine_.fabric.ranks_per_node; }

  const AlphaBeta* measured(int nodes) const {
    const auto found = machine_.measured.find(nodes);
    return found == machine_.measured.end() ? nullptr : &found->second;
  }

  double seconds(int nodes, double bytes) const {
    if (ranks(nodes) < 2) return 0;
    const AlphaBeta* fit = measured(nodes);
    return fit != nullptr ? fit->seconds(bytes) : best(machine_.fabric, nodes, bytes).seconds;
  }

  json machine_json() const {
    return {{"instance", machine_.instance.empty() ? json(nullptr) : json(machine_.instance)},
            {"accelerator", machine_.accelerator.empty() ? json(nullptr) : json(machine_.accelerator)},
            {"name", machine_.name},
            {"gpus_per_node", machine_.fabric.ranks_per_node},
            {"inside", to_string(machine_.fabric.inside)}};
  }

  json allreduce_rows() const {
    json rows = json::array();
    for (const int nodes : options_.nodes) {
      if (ranks(nodes) < 2) continue;
      for (const double bytes : options_.message_bytes) rows.push_back(allreduce_row(nodes, bytes));
    }
    return rows;
  }

  json allreduce_row(int nodes, double bytes) const {
    const int n = ranks(nodes);
    const auto bus = [&](double time) { return bus_factor(n) * bytes / time / 1e9; };
    const double time = seconds(nodes, bytes);
    const Prediction chosen = best(machine_.fabric, nodes, bytes);
    const bool from_fit = measured(nodes) != nullptr;
    json row = {{"nodes", nodes},
                {"gpus", n},
                {"bytes", bytes},
                {"seconds", time},
                {"busbw_gbps", bus(time)},
                {"algorithm", from_fit ? "measured" : std::string(to_string(chosen.algorithm))},
                {"protocol", from_fit ? json(nullptr) : json(to_string(chosen.protocol))},
                {"network_limits", from_fit ? json(nullptr) : json(chosen.network_limits)},
                {"candidates", json::array()}};
    for (const Prediction& prediction : candidates(machine_.fabric, nodes, bytes)) {
      row["candidates"].push_back({{"algorithm", to_string(prediction.algorithm)},
                                   {"protocol", to_string(prediction.protocol)},
                                   {"seconds", prediction.seconds},
                                   {"alpha_us", prediction.alpha_seconds * 1e6},
                                   {"busbw_gbps", bus(prediction.seconds)}});
    }
    return row;
  }

  // The measured step whose model is nearest in size, unless a share was asked for.
  void choose_rate() {
    if (!options_.step_share && !machine_.steps.empty()) {
      const auto distance = [&](const MeasuredStep& step) {
        return std::abs(std::log(step.parameters / options_.model.parameters));
      };
      const MeasuredStep& nearest =
          *std::min_element(machine_.steps.begin(), machine_.steps.end(),
                            [&](const MeasuredStep& a, const MeasuredStep& b) { return distance(a) < distance(b); });
      gpu_tflops_ = nearest.tflops;
      measured_step_ = nearest.id;
      if (distance(nearest) > std::log(far_off)) {
        machine_.notes.push_back(fmt::format(
            "The step measured ({}) is of a model of {} M parameters, far from {}: larger products run faster. "
            "--step-share takes a share of the matrix products instead.",
            nearest.id, number_text(nearest.parameters / 1e6), options_.model.name));
      }
    } else if (machine_.rank_tflops) {
      step_share_ = options_.step_share.value_or(default_step_share);
      gpu_tflops_ = *machine_.rank_tflops * *step_share_;
    }
  }

  json training_json() {
    choose_rate();
    if (!gpu_tflops_) {
      machine_.notes.emplace_back(
          "No training step: neither one nor a matrix product was measured, and the catalog has no typical rate for "
          "this device.");
      return nullptr;
    }
    const TrainingModel& model = options_.model;
    const double flops = flops_per_token(model, options_.sequence);
    const double global = options_.global_batch.value_or(
        default_global_batch(options_.batch, ranks(options_.nodes.front()), ranks(options_.nodes.back())));
    json training = {
        {"model",
         {{"name", model.name}, {"parameters", model.parameters}, {"layers", model.layers}, {"width", model.width}}},
        {"sequence", options_.sequence},
        {"batch_per_gpu", options_.batch},
        {"global_batch", global},
        {"flops_per_token", flops},
        {"step_share", optional_number(step_share_)},
        {"measured_step", measured_step_.empty() ? json(nullptr) : json(measured_step_)},
        {"gpu_tflops", *gpu_tflops_},
        {"data_type", machine_.data_type},
        {"gradient_bytes", model.parameters * options_.gradient_bytes},
        {"bucket_bytes", options_.bucket_bytes},
        {"overlap", options_.overlap},
        {"weak", json::array()},
        {"strong", json::array()}};
    for (const int nodes : options_.nodes) {
      training["weak"].push_back(step_row(nodes, options_.batch, flops));
      training["strong"].push_back(step_row(nodes, global / ranks(nodes), flops));
    }
    add_training_notes(training);
    return training;
  }

  json step_row(int nodes, double batch, double flops) const {
    json row = {{"nodes", nodes}, {"gpus", ranks(nodes)}, {"batch_per_gpu", batch}};
    if (batch < 1) {
      for (const char* key : {"step_seconds", "compute_seconds", "allreduce_seconds", "exposed_seconds", "efficiency",
                              "tokens_per_second"}) {
        row[key] = nullptr;
      }
      return row;
    }
    const double compute = batch * options_.sequence * flops / (*gpu_tflops_ * 1e12);
    const Gradients gradients{options_.model.parameters * options_.gradient_bytes, options_.bucket_bytes,
                              options_.overlap};
    const Step step = training_step(compute, gradients, [&](double bytes) { return seconds(nodes, bytes); });
    row["step_seconds"] = step.seconds();
    row["compute_seconds"] = step.compute_seconds;
    row["allreduce_seconds"] = step.allreduce_seconds;
    row["exposed_seconds"] = step.exposed_seconds;
    row["efficiency"] = step.efficiency();
    row["tokens_per_second"] = batch * ranks(nodes) * options_.sequence / step.seconds();
    return row;
  }

  void add_training_notes(const json& training) {
    const double state = options_.model.parameters * state_bytes_per_parameter;
    if (machine_.memory_bytes && state > *machine_.memory_bytes) {
      machine_.notes.push_back(fmt::format(
          "Plain data parallelism keeps 16 bytes a parameter on every GPU: {} GB for {}, but one has {} GB. "
          "Sharding (ZeRO, FSDP) fits it and is not modelled: its last stage moves half as much again.",
          number_text(state / 1e9), options_.model.name, number_text(*machine_.memory_bytes / 1e9)));
    }
    const auto too_few = [](const json& row) { return row["step_seconds"].is_null(); };
    const json& strong = training["strong"];
    if (std::any_of(strong.begin(), strong.end(), too_few)) {
      machine_.notes.push_back(
          fmt::format("{} sequences are fewer than one a GPU where strong scaling shows no step: --global-batch.",
                      exact_text(training["global_batch"].get<double>())));
    }
    if (options_.model.layers == 0) {
      machine_.notes.push_back(
          fmt::format("{} is a number of parameters without a shape: the products of attention are not counted.",
                      options_.model.name));
    }
  }

  ScaleOptions options_;
  Machine machine_;
  std::optional<double> gpu_tflops_;  // of a training step
  std::optional<double> step_share_;
  std::string measured_step_;
};

}  // namespace

double default_global_batch(double batch, int fewest_gpus, int most_gpus) {
  return std::max(batch * fewest_gpus, static_cast<double>(most_gpus));
}

json scale_json(const Document* document, const Catalog& catalog, const ScaleOptions& options) {
  return Builder(document, catalog, options).build();
}

}  // namespace claimcheck::scale

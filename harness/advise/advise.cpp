#include "harness/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "harness/advise/candidate.h"
#include "harness/advise/rules.h"
#include "harness/error.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/judge/sustained.h"
#include "harness/nearest.h"
#include "harness/report/quantity.h"
#include "harness/scale/machine.h"
#include "harness/scale/scale.h"

namespace claimcheck::advise {
namespace {

using nlohmann::json;

// What can be trained in; fp8 and lower need 16-bit parts that the rate of one type does not show.
const std::vector<std::string> data_types = {"bf16", "fp16", "tf32", "fp32", "fp8"};

json optional_number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

class Advisor {
 public:
  Advisor(const Catalog& catalog, const AdviseOptions& options)
      : catalog_(catalog), options_(options), pricing_(catalog, options_.cost) {
    const std::string& type = options.data_type;
    if (!type.empty() && std::find(data_types.begin(), data_types.end(), type) == data_types.end()) {
      throw UserError(fmt::format("--dtype '{}': expected one of {}", type, fmt::join(data_types, ", ")));
    }
    options_.workload.model = with_shape(options_.workload.model);
  }

  void add_result(const PricedResult& result, bool quoted) {
    const Document& document = *result.document;
    if (document.is_virtual && !options_.cost.allow_virtual) {
      throw UserError(
          "the result was measured on a virtual device, and a virtual figure plans no real training; --allow-virtual "
          "shows it all the same");
    }
    scale::MachineOptions machine_options;
    if (quoted && options_.cost.instance) machine_options.instance = options_.cost.instance;
    Candidate candidate;
    candidate.label = result.label;
    candidate.machine = scale::machine_of(&document, catalog_, machine_options);
    candidate.checkpoint = checkpoint_times(document);
    virtual_ = virtual_ || document.is_virtual;
    const Platform* platform =
        candidate.machine.instance.empty() ? nullptr : catalog_.find_platform(candidate.machine.instance);
    if (quoted && options_.cost.price) {
      std::string why;
      const auto price = pricing_.of_quote(*options_.cost.price, candidate.machine.fabric.ranks_per_node, why);
      if (price) candidate.prices.push_back(*price);
    } else if (platform != nullptr) {
      add_list_prices(*platform, candidate);
    }
    if (!set_measured_rate(candidate)) {
      leave_out(candidate.label, "neither a training step nor a usable matrix product was measured");
      return;
    }
    add_peak(candidate);
    add(candidate);
  }

  void add_platform(const Platform& platform) {
    if (platform.accelerator.empty() || platform.accelerator_count.value_or(0) <= 0) {
      return leave_out(platform.id, "no accelerator, or how many is not known");
    }
    const Accelerator* accelerator = catalog_.find_accelerator(platform.accelerator);
    if (accelerator == nullptr) return leave_out(platform.id, "its accelerator has no row in the catalog");
    Candidate candidate;
    candidate.label = platform.id;
    if (!set_estimated_rate(*accelerator, candidate)) {
      return leave_out(platform.id, options_.data_type.empty()
                                        ? "no rate in bf16 or fp16 is known of its accelerator"
                                        : "no rate in " + options_.data_type + " is known of its accelerator");
    }
    add_list_prices(platform, candidate);
    if (candidate.prices.empty()) return leave_out(platform.id, "no price is known");
    scale::MachineOptions machine_options;
    machine_options.instance = platform.id;
    try {
      candidate.machine = scale::machine_of(nullptr, catalog_, machine_options);
    } catch (const UserError&) {
      return leave_out(platform.id, "how fast its GPUs exchange data is not known");
    }
    add(candidate);
  }

  json answer() {
    const auto key = [](const json& row) {
      return std::tuple{!row["converted"].get<bool>(), row["within_budget"] == json(false), row["money"].get<double>(),
                        row["seconds"].get<double>()};
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const json& a, const json& b) { return key(a) < key(b); });
    json answer = {{"schema_version", fmt::format("{}.{}", schema_major, schema_minor)},
                   {"virtual", virtual_},
                   {"workload", workload_json()},
                   {"currency", options_.cost.currency},
                   {"deadline_seconds", optional_number(options_.deadline_seconds)},
                   {"budget", optional_number(options_.budget)},
                   {"top", options_.cost.top},
                   {"rows", json::array()},
                   {"left_out", left_out_},
                   {"notes", notes()}};
    for (json& row : rows_) answer["rows"].push_back(std::move(row));
    answer["rules"] = rules_of_thumb(answer["rows"], options_, catalog_);
    return answer;
  }

 private:
  void leave_out(const std::string& label, const std::string& reason) {
    left_out_.push_back({{"label", label}, {"reason", reason}});
  }

  void add_list_prices(const Platform& platform, Candidate& candidate) {
    for (const ListPrice& price : cheapest_by_term(list_prices(catalog_, platform))) {
      if (pricing_.wants(price.term)) candidate.prices.push_back(pricing_.of_list(price));
    }
  }

  // The step whose model is nearest in size, else the matrix products.
  bool set_measured_rate(Candidate& candidate) const {
    const scale::Machine& machine = candidate.machine;
    candidate.data_type = machine.data_type;
    const auto distance = [&](const scale::MeasuredStep& step) {
      return std::abs(std::log(step.parameters / options_.workload.model.parameters));
    };
    const auto nearest = std::min_element(machine.steps.begin(), machine.steps.end(),
                                          [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    if (nearest != machine.steps.end()) {
      candidate.tflops = nearest->tflops;
      candidate.basis = fmt::format("training step measured ({}, {} M parameters)", nearest->id,
                                    number_text(nearest->parameters / 1e6));
      candidate.estimate = false;
      return true;
    }
    if (!machine.rank_tflops) return false;
    candidate.tflops = *machine.rank_tflops * scale::default_step_share;
    candidate.basis = fmt::format("{} products x {} (assumed share of a step)", number_text(*machine.rank_tflops),
                                  exact_text(scale::default_step_share));
    candidate.estimate = true;
    candidate.products_measured = true;
    return true;
  }

  bool set_estimated_rate(const Accelerator& accelerator, Candidate& candidate) const {
    const std::vector<std::string> wanted =
        options_.data_type.empty() ? std::vector<std::string>{"bf16", "fp16"} : std::vector{options_.data_type};
    for (const std::string& type : wanted) {
      const auto dense = dense_claim(accelerator, type == "fp8" ? "fp8_e4m3" : type);
      const auto sustained = sustained_gemm_share(catalog_, accelerator, type == "fp8" ? "fp8_e4m3" : type);
      if (!dense || *dense <= 0 || !sustained) continue;
      candidate.tflops = *dense * sustained->share * scale::default_step_share;
      candidate.data_type = type;
      candidate.peak = dense;
      candidate.basis = fmt::format("{} dense x {} typical x {} (assumed share of a step)", exact_text(*dense),
                                    share_text(sustained->share), exact_text(scale::default_step_share));
      return true;
    }
    return false;
  }

  void add_peak(Candidate& candidate) const {
    const Accelerator* accelerator =
        candidate.machine.accelerator.empty() ? nullptr : catalog_.find_accelerator(candidate.machine.accelerator);
    if (accelerator != nullptr) candidate.peak = dense_claim(*accelerator, candidate.data_type);
  }

  void add(const Candidate& candidate) {
    Verdict verdict = evaluate(candidate, pricing_, options_);
    if (verdict.rows.empty()) return leave_out(candidate.label, verdict.reason);
    for (json& row : verdict.rows) rows_.push_back(std::move(row));
  }

  json workload_json() const {
    const Workload& workload = options_.workload;
    const Need need = training_need(workload);
    const InferenceNeed inference = inference_need(workload, 2);
    json cards = json::array();
    for (const double gigabytes : {24.0, 40.0, 80.0, 141.0}) {
      const auto training = gpus_for(need.states, need.gathered + need.computed, gigabytes * 1e9);
      const auto serving = gpus_for(inference.weights + inference.keys_and_values, 0, gigabytes * 1e9);
      cards.push_back({{"memory_gb", gigabytes},
                       {"training_gpus", training ? json(*training) : json(nullptr)},
                       {"inference_gpus", serving ? json(*serving) : json(nullptr)}});
    }
    return {{"parameters", workload.model.parameters},
            {"layers", workload.model.layers},
            {"width", workload.model.width},
            {"tokens", workload.tokens},
            {"sequence", workload.sequence},
            {"batch_tokens", workload.batch_tokens},
            {"flops", workload.flops()},
            {"state_bytes", need.states},
            {"checkpoint_bytes", need.checkpoint},
            {"activation_bytes", {{"kept", need.kept}, {"computed_again", need.computed}}},
            {"inference_bytes", {{"weights", inference.weights}, {"keys_and_values", inference.keys_and_values}}},
            {"cards", std::move(cards)}};
  }

  json notes() const {
    json notes = json::array();
    const auto any = [&](const char* pointer, const json& value) {
      return std::any_of(rows_.begin(), rows_.end(),
                         [&](const json& row) { return row.at(json::json_pointer(pointer)) == value; });
    };
    if (!options_.deadline_seconds)
      notes.push_back(
          "Without --deadline each machine is shown with the fewest nodes that hold the model; more are "
          "faster for about the same money.");
    if (any("/goodput/measured", false))
      notes.push_back(
          fmt::format("No checkpoint was measured on machines of the catalog: {} GB/s a node is assumed. "
                      "claimcheck run --only 'checkpoint*' and --result replace it.",
                      number_text(assumed_save_bytes_per_second / 1e9)));
    notes.push_back(fmt::format("GPUs are taken to fail once in {:.0f} GPU-hours (16384 H100s, Llama 3).",
                                gpu_hours_between_failures));
    if (any("/goodput/spot_counted", false))
      notes.push_back(
          "How often spot machines are taken away is not known: --interrupted-every says it, and without it "
          "their loss is not counted.");
    notes.push_back(
        "Nothing here was trained: figures marked * or ~ are estimates, good for an "
        "order, not for a contract.");
    return notes;
  }

  const Catalog& catalog_;
  AdviseOptions options_;
  Pricing pricing_;
  bool virtual_ = false;
  std::vector<json> rows_;
  json left_out_ = json::array();
};

const Platform& platform_named(const Catalog& catalog, const std::string& name) {
  if (const Platform* platform = catalog.find_platform(name)) return *platform;
  const std::string near = quoted_choice(catalog.near_platforms(name));
  throw UserError(
      fmt::format("--instance '{}' is not in the catalog{}", name, near.empty() ? "" : ": did you mean " + near + "?"));
}

}  // namespace

json advise_json(const std::vector<PricedResult>& results, const Catalog& catalog, const AdviseOptions& options) {
  Advisor advisor(catalog, options);
  for (const PricedResult& result : results) advisor.add_result(result, &result == &results.front());
  if (!options.instances.empty()) {
    for (const std::string& name : options.instances) advisor.add_platform(platform_named(catalog, name));
  } else {
    for (const Platform& platform : catalog.platforms) {
      if (options.cost.provider.empty() || platform.provider == options.cost.provider) advisor.add_platform(platform);
    }
  }
  return advisor.answer();
}

ExitCode outcome(const json& answer) {
  const json& rows = answer.at("rows");
  if (rows.empty()) return ExitCode::not_met;
  if (answer.at("budget").is_null()) return ExitCode::ok;
  const auto any = [&](const json& what) {
    return std::any_of(rows.begin(), rows.end(), [&](const json& row) { return row.at("within_budget") == what; });
  };
  return any(true) ? ExitCode::ok : any(false) ? ExitCode::not_met : ExitCode::incomplete;
}

}  // namespace claimcheck::advise

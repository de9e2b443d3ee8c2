// Predictions for people, at most 100 columns.
#include <fmt/format.h>

#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/report/layout.h"
#include "harness/report/quantity.h"
#include "harness/scale/scale.h"

namespace claimcheck::scale {
namespace {

using nlohmann::json;

constexpr std::size_t width = 100;
constexpr std::size_t indent = 10;

std::string time_text(double seconds) {
  if (seconds < 1e-3) return number_text(seconds * 1e6) + " us";
  return seconds < 1 ? number_text(seconds * 1e3) + " ms" : number_text(seconds) + " s";
}

std::string time_cell(const json& seconds) { return seconds.is_number() ? time_text(seconds) : "-"; }

// "12 350 000" is hard to read: thousands and millions are named.
std::string rate_text(double rate) {
  if (rate >= 1e9) return number_text(rate / 1e9) + " G";
  if (rate >= 1e6) return number_text(rate / 1e6) + " M";
  return rate >= 1e4 ? number_text(rate / 1e3) + " k" : number_text(rate);
}

std::string header_text(const json& scale) {
  const json& machine = scale.at("machine");
  std::string what = text_at(machine, "instance");
  what += (what.empty() ? "" : ", ") + text_at(machine, "name") + " a node";
  if (scale.at("virtual").get<bool>()) what += "; VIRTUAL: of a virtual machine, these figures are of no real cluster";
  std::string text = labelled("SCALE", what, indent, width);
  for (const json& fact : scale.at("facts")) {
    const std::string value =
        fact.at("value").is_number() ? number_text(fact.at("value")) + " " + text_at(fact, "unit") : "unknown";
    text += labelled("",
                     fmt::format("{}{}: {}, {}", fact.at("estimate").get<bool>() ? "*estimate* " : "",
                                 text_at(fact, "name"), value, text_at(fact, "basis")),
                     indent + 2, width);
  }
  return text;
}

std::string how_cell(const json& row) {
  if (row.at("algorithm") == "measured") return "fit of what was measured";
  return fmt::format("{} {}{}", text_at(row, "algorithm"), text_at(row, "protocol"),
                     row.at("network_limits").get<bool>() ? ", network limits" : "");
}

std::string allreduce_text(const json& rows) {
  Table table({{"nodes", true, 6},
               {"GPUs", true, 7},
               {"all-reduce of", true, 14},
               {"bus bandwidth", true, 14},
               {"time", true, 10},
               {"how", false, 40}});
  for (const json& row : rows) {
    table.add({{std::to_string(row.at("nodes").get<int>())},
               {std::to_string(row.at("gpus").get<int>())},
               {binary_bytes_text(row.at("bytes"))},
               {number_text(row.at("busbw_gbps")) + " GB/s"},
               {time_text(row.at("seconds"))},
               {how_cell(row)}});
  }
  return table.empty() ? "" : "\n" + table.render(width, false);
}

std::string rate_basis(const json& training) {
  if (training.at("step_share").is_null()) return fmt::format("measured, {}", text_at(training, "measured_step"));
  return fmt::format("{} products x {} step share", text_at(training, "data_type"),
                     exact_text(training.at("step_share")));
}

std::string training_heading(const json& training) {
  const json& model = training.at("model");
  return fmt::format(
      "{}: {} G parameters, {} tokens a sequence, {} sequences a GPU (weak) or {} in all (strong); {} TFLOPS a GPU "
      "({}); "
      "gradients of {} in buckets of {}{}",
      text_at(model, "name"), number_text(model.at("parameters").get<double>() / 1e9),
      exact_text(training.at("sequence")), exact_text(training.at("batch_per_gpu")),
      exact_text(training.at("global_batch")), number_text(training.at("gpu_tflops")), rate_basis(training),
      binary_bytes_text(training.at("gradient_bytes")), binary_bytes_text(training.at("bucket_bytes")),
      training.at("overlap").get<bool>() ? ", overlapped with backward" : ", after backward");
}

std::string training_text(const json& training) {
  if (training.is_null()) return {};
  Table table({{"scaling", false, 7},
               {"nodes", true, 6},
               {"GPUs", true, 7},
               {"batch/GPU", true, 9},
               {"step", true, 9},
               {"compute", true, 9},
               {"all-reduce", true, 10},
               {"exposed", true, 9},
               {"efficiency", true, 10},
               {"tokens/s", true, 9}});
  for (const char* kind : {"weak", "strong"}) {
    for (const json& row : training.at(kind)) {
      const json& efficiency = row.at("efficiency");
      const json& tokens = row.at("tokens_per_second");
      table.add({{kind},
                 {std::to_string(row.at("nodes").get<int>())},
                 {std::to_string(row.at("gpus").get<int>())},
                 {exact_text(row.at("batch_per_gpu"))},
                 {time_cell(row.at("step_seconds"))},
                 {time_cell(row.at("compute_seconds"))},
                 {time_cell(row.at("allreduce_seconds"))},
                 {time_cell(row.at("exposed_seconds"))},
                 {efficiency.is_number() ? share_text(efficiency) : "-"},
                 {tokens.is_number() ? rate_text(tokens) : "-"}});
    }
  }
  return "\n" + labelled("TRAINING", training_heading(training), indent, width) + table.render(width, false);
}

std::string notes_text(const json& notes) {
  std::string text;
  for (const json& note : notes) {
    text += labelled(text.empty() ? " notes" : "", note.get<std::string>(), indent, width);
  }
  return text;
}

}  // namespace

std::string scale_text(const json& scale) {
  return header_text(scale) + allreduce_text(scale.at("allreduce")) + training_text(scale.at("training")) +
         notes_text(scale.at("notes"));
}

}  // namespace claimcheck::scale

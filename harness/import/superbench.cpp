// Results of SuperBench: results-summary.jsonl (one object a node), results.json of one benchmark, and what
// `sb result diagnosis` makes of them. In a diagnosis the figure beside a name is a deviation from a baseline, not a
// value, and a figure that is missing is a benchmark that did not run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/gpu_stream_name.h"
#include "harness/import/measured.h"
#include "harness/import/superbench_diagnosis.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

struct Meaning {
  std::string metric;
  std::string unit;
  double factor = 1;
  std::string of;  // what sets it apart: size, shape, thread block
  json conditions = json::object();
};

// "gemm-flops/bf16_tc_flops:3": benchmark, figure, rank.
struct Key {
  std::string benchmark;
  std::string figure;
  int rank = -1;
};

std::optional<Key> key_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  Key key;
  key.benchmark = text.substr(0, slash);
  key.figure = text.substr(slash + 1);
  const std::size_t colon = key.figure.rfind(':');
  if (colon != std::string::npos)
    if (const auto rank = number(std::string_view(key.figure).substr(colon + 1)); rank && *rank >= 0 && *rank < 4096) {
      key.rank = static_cast<int>(*rank);
      key.figure.resize(colon);
    }
  return key;
}

std::optional<Meaning> collective(const Key& key) {
  constexpr std::array<std::string_view, 6> families = {"allreduce", "allgather", "reducescatter",
                                                        "broadcast", "sendrecv",  "alltoall"};
  for (const std::string_view family : families) {
    if (!key.figure.starts_with(std::string(family) + "_")) continue;
    const bool bus = key.figure.ends_with("_busbw");
    if (!bus && !key.figure.ends_with("_algbw")) return std::nullopt;
    const auto bytes =
        number(std::string_view(key.figure).substr(family.size() + 1, key.figure.size() - family.size() - 7));
    if (!bytes) return std::nullopt;
    return Meaning{fmt::format("{}.{}.gbps", family, bus ? "busbw" : "algbw"),
                   "GB/s",
                   1,
                   fmt::format("bytes:{:.0f}", *bytes),
                   {{"bytes", *bytes}}};
  }
  return std::nullopt;
}

std::optional<Meaning> meaning_of(const Key& key) {
  struct Known {
    std::string_view benchmark, figure, metric, unit;
    double factor;
  };
  // gemm-flops is in GFLOPS, dense; the vector units' rates (fp16_flops) are no metric of ours.
  static constexpr std::array<Known, 9> table = {{{"gemm-flops", "fp64_flops", "gemm.fp64.tflops", "TFLOPS", 1e-3},
                                                  {"gemm-flops", "fp64_tc_flops", "gemm.fp64.tflops", "TFLOPS", 1e-3},
                                                  {"gemm-flops", "fp32_flops", "gemm.fp32.tflops", "TFLOPS", 1e-3},
                                                  {"gemm-flops", "tf32_tc_flops", "gemm.tf32.tflops", "TFLOPS", 1e-3},
                                                  {"gemm-flops", "fp16_tc_flops", "gemm.fp16.tflops", "TFLOPS", 1e-3},
                                                  {"gemm-flops", "bf16_tc_flops", "gemm.bf16.tflops", "TFLOPS", 1e-3},
                                                  {"gemm-flops", "int8_tc_iops", "gemm.int8.tops", "TOPS", 1e-3},
                                                  {"mem-bw", "h2d_bw", "host_link.h2d.gbps", "GB/s", 1},
                                                  {"mem-bw", "d2h_bw", "host_link.d2h.gbps", "GB/s", 1}}};
  const std::string name = key.benchmark.substr(0, key.benchmark.find(':'));
  std::string figure = key.figure;
  if (figure == "H2D_Mem_BW") figure = "h2d_bw";
  if (figure == "D2H_Mem_BW") figure = "d2h_bw";
  for (const Known& known : table)
    if (known.benchmark == name && known.figure == figure)
      return Meaning{std::string(known.metric),
                     std::string(known.unit),
                     known.factor,
                     contains(figure, "fp64_tc") ? "tensor" : "",
                     {}};
  if (name == "nccl-bw" || name == "rccl-bw") return collective(key);
  if (figure.starts_with("STREAM_") && (figure.ends_with("_bw") || !figure.ends_with("_ratio")))
    if (const auto stream = gpu_stream_name(figure))
      return Meaning{stream->kernel + ".gbps",
                     "GB/s",
                     1,
                     fmt::format("block:{:.0f}", stream->block),
                     {{"block", stream->block}, {"bytes", stream->bytes}, {"data_type", stream->type}}};
  return std::nullopt;
}

// One node's figures: a measurement for all ranks that have the same one.
class Node {
 public:
  Node(Collected& collected, std::string name) : collected_(collected), name_(std::move(name)) {}

  void figure(const std::string& text, const json& value) {
    const auto key = key_of(text);
    if (!key) return;
    if (key->figure == "return_code") return code(*key, value);
    const auto meaning = meaning_of(*key);
    if (!meaning) {
      ++others_;
      return;
    }
    Group& group = groups_[fmt::format("{}\n{}\n{}", key->benchmark, meaning->metric, meaning->of)];
    group.meaning = *meaning;
    group.benchmark = key->benchmark;
    int device = std::max(key->rank, 0);
    if (const auto stream = gpu_stream_name(key->figure)) device = stream->gpu;
    group.values[device] = value.is_number() ? std::optional(value.get<double>() * meaning->factor) : std::nullopt;
  }

  void report() {
    for (const auto& [key, group] : groups_) report_group(group);
    if (others_ > 0)
      collected_.note(
          fmt::format("{} figures of SuperBench{} have no metric here", others_, name_.empty() ? "" : " on " + name_));
  }

 private:
  struct Group {
    Meaning meaning;
    std::string benchmark;
    std::map<int, std::optional<double>> values;
  };

  void code(const Key& key, const json& value) {
    const double ended = value.is_number() ? value.get<double>() : 0;
    if (value.is_number() && ended == 0) return;
    failed_.insert(key.benchmark);
    collected_.add(Finding{"import.superbench_failed",
                           "error",
                           fmt::format("{} of SuperBench {}{}.", key.benchmark,
                                       value.is_number() ? fmt::format("ended with code {:.0f}", ended) : "did not run",
                                       name_.empty() ? "" : " on " + name_),
                           "Look into that benchmark's own output on that node.",
                           {}});
  }

  void report_group(const Group& group) {
    std::optional<double> slowest;
    std::size_t missing = 0;
    Measurement made;
    for (const auto& [rank, value] : group.values) {
      made.devices.push_back({rank, "", value});
      if (!value)
        ++missing;
      else if (!slowest || *value < *slowest)
        slowest = value;
    }
    json conditions = group.meaning.conditions;
    conditions["method"] = "SuperBench " + group.benchmark;
    if (!name_.empty()) conditions["node"] = name_;
    const std::string& metric = group.meaning.metric;
    std::string id = metric.substr(0, metric.rfind('.')) + "/" + group.benchmark;
    if (!group.meaning.of.empty()) id += "/" + group.meaning.of;
    if (!name_.empty()) id += "/" + name_;
    auto devices = std::move(made.devices);
    made = measured(id, metric, group.meaning.unit, slowest, conditions, "the figure is missing: it did not run");
    if (devices.size() > 1) made.devices = std::move(devices);
    if (missing > 0 && slowest) {
      made.status = Outcome::failed;
      made.reason = fmt::format("the figure of {} of {} GPUs is missing", missing, group.values.size());
      made.value.reset();
    } else if (slowest && failed_.count(group.benchmark) > 0) {
      made.status = Outcome::failed;
      made.reason = group.benchmark + " ended with an error";
      made.value.reset();
    } else if (slowest && *slowest <= 0) {
      made.status = Outcome::failed;
      made.reason = "0 is no rate: it did not run";
      made.value.reset();
    }
    collected_.add(made);
  }

  Collected& collected_;
  std::string name_;
  std::map<std::string, Group> groups_;
  std::set<std::string> failed_;
  std::size_t others_ = 0;
};

bool summary(Collected& collected, const json& value) {
  const auto node = value.find("node");
  if (node == value.end() || !node->is_string()) return false;
  const bool ours = std::any_of(value.items().begin(), value.items().end(),
                                [](const auto& item) { return item.key().find('/') != std::string::npos; });
  if (!ours) return false;
  Node figures(collected, node->get<std::string>());
  for (const auto& [key, figure] : value.items())
    if (key.ends_with("return_code") || key.find("return_code:") != std::string::npos) figures.figure(key, figure);
  for (const auto& [key, figure] : value.items())
    if (key.find("return_code") == std::string::npos) figures.figure(key, figure);
  figures.report();
  return true;
}

// {"name": "gemm-flops", "type": "micro", "return_code": 0, "result": {"bf16_tc_flops": [..]}}
bool one_benchmark(Collected& collected, const json& value) {
  const auto result = value.find("result");
  if (!value.contains("run_count") || !value.contains("return_code") || result == value.end() || !result->is_object())
    return false;
  const std::string name = text_of(value, "name");
  Node figures(collected, "");
  figures.figure(name + "/return_code", value["return_code"]);
  for (const auto& [key, list] : result->items()) {
    if (key == "return_code" || !list.is_array()) continue;
    for (std::size_t i = 0; i < list.size(); ++i) figures.figure(fmt::format("{}/{}:{}", name, key, i), list[i]);
  }
  figures.report();
  return true;
}

}  // namespace

bool document_superbench(Collected& collected, const json& value) {
  if (value.is_array()) {
    bool any = false;
    for (const json& entry : value) any = (entry.is_object() && document_superbench(collected, entry)) || any;
    return any;
  }
  if (!value.is_object()) return false;
  return superbench_diagnosis(collected, value) || summary(collected, value) || one_benchmark(collected, value);
}

}  // namespace claimcheck::importing

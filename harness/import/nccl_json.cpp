// nccl-tests with -J: the same run as its text, in JSON (versions 1 and 2 of the file, nccl-tests 2.16 on).
#include <fmt/format.h>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/import/nccl_run.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::size_t most_ranks = 1'000'000;

// A number, or a number as text; unset for null and "nan".
std::optional<double> figure(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? number(trimmed(found->get<std::string>())) : std::nullopt;
}

NcclHalf half_of(const json& row, const char* key) {
  NcclHalf half;
  const auto found = row.find(key);
  if (found == row.end() || !found->is_object()) return half;
  half.time_us = figure(*found, "time");
  if (!half.time_us) half.time_us = figure(*found, "cpu_time");
  half.algbw = figure(*found, "alg_bw");
  half.busbw = figure(*found, "bus_bw");
  half.wrong = figure(*found, "nwrong");
  half.unchecked = !half.wrong;
  return half;
}

class NcclDocument {
 public:
  NcclDocument(Collected& collected, const json& document) : collected_(collected), document_(document) {}

  bool read() {
    const auto config = document_.find("config");
    const auto args = document_.find("args");
    if (!document_.contains("nccl_version") && (config == document_.end() || args == document_.end())) return false;
    const auto results = document_.find("results");
    if (results == document_.end() && config == document_.end()) return false;
    if (const auto version = figure(document_, "nccl_version")) set_version(*version);
    if (args != document_.end() && args->is_array() && !args->empty() && (*args)[0].is_string())
      run_.collective((*args)[0].get<std::string>());
    run_.header();
    if (config != document_.end() && config->is_object()) read_config(*config);
    if (results != document_.end() && results->is_array())
      for (const json& row : *results)
        if (row.is_object()) read_row(row);
    read_end();
    run_.report(collected_, collected_.said().ranks, collected_.said().nodes);
    return true;
  }

 private:
  void set_version(double code) {
    const int whole = static_cast<int>(code);
    if (whole >= 10000)
      collected_.system("/software/nccl", fmt::format("{}.{}.{}", whole / 10000, whole / 100 % 100, whole % 100));
  }

  void read_config(const json& config) {
    const double threads = figure(config, "nthreads").value_or(1);
    const double gpus = figure(config, "ngpus").value_or(1);
    run_.parameters(
        fmt::format("# nThread {:.0f} nGpus {:.0f} minBytes {:.0f} maxBytes {:.0f} step: 0 warmup iters: {:.0f} "
                    "iters: {:.0f} agg iters: 1 validation: {:.0f} ",
                    threads, gpus, figure(config, "minimum_bytes").value_or(0),
                    figure(config, "maximum_bytes").value_or(0), figure(config, "warmup_iters").value_or(0),
                    figure(config, "iterations").value_or(0), figure(config, "validation").value_or(1)));
    const auto devices = config.find("devices");
    if (devices == config.end() || !devices->is_array()) return;
    // One entry a process, of its first GPU only.
    const int each = std::max(1, static_cast<int>(std::min(threads * gpus, 1024.0)));
    const bool all = devices->size() > 1 && each > 1 && consecutive(*devices);
    for (const json& entry : *devices) {
      if (!entry.is_object()) continue;
      const int first = static_cast<int>(figure(entry, "rank").value_or(0));
      if (first < 0 || static_cast<std::size_t>(first) > most_ranks) continue;
      for (int i = 0; i < (all ? 1 : each); ++i) {
        NcclRank rank;
        rank.host = text_of(entry, "hostname");
        rank.device = static_cast<int>(figure(entry, "device").value_or(0)) + i;
        rank.gpu = text_of(entry, "device_info");
        if (i == 0) rank.bus = "[" + text_of(entry, "device_hex") + "]";
        run_.rank(first + i, rank);
      }
    }
  }

  static bool consecutive(const json& devices) {
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (!devices[i].is_object() || figure(devices[i], "rank") != static_cast<double>(i)) return false;
    return true;
  }

  void read_row(const json& row) {
    const std::string type = text_of(row, "type");
    const std::string op = text_of(row, "redop");
    NcclRow made;
    made.bytes = figure(row, "size").value_or(0);
    made.count = figure(row, "count");
    made.type = type;
    made.op = op;
    made.out = half_of(row, "out_of_place");
    made.in = half_of(row, "in_place");
    run_.row(made, true, 0);
  }

  void read_end() {
    if (const auto average = document_.find("average_bus_bandwidth");
        average != document_.end() && average->is_object())
      if (const auto value = figure(*average, "bandwidth")) run_.average(*value);
    const auto bounds = document_.find("out_of_bounds");
    if (bounds == document_.end() || !bounds->is_object()) return;
    run_.trailer();
    run_.bounds();
    if (figure(*bounds, "count").value_or(0) <= 0) return;
    collected_.add(
        Finding{"import.out_of_bounds",
                "error",
                "nccl-tests says that results were out of bounds.",
                "Test each node and each GPU alone; wrong sums without an error mean memory, links or a driver at "
                "fault.",
                {}});
  }

  Collected& collected_;
  const json& document_;
  NcclRun run_;
};

}  // namespace

bool document_nccl_tests(Collected& collected, const json& value) {
  if (!value.is_object() || !NcclDocument(collected, value).read()) return false;
  const auto errors = value.find("errors");
  if (errors == value.end() || !errors->is_array()) return true;
  for (const json& error : *errors)
    if (error.is_string() && !error.get<std::string>().empty())
      collected.add(Finding{"import.nccl_failure",
                            "warning",
                            fmt::format("NCCL's last error: {}.", error.get<std::string>()),
                            "Run it again with NCCL_DEBUG=INFO: the first WARN line names the cause.",
                            {}});
  return true;
}

}  // namespace claimcheck::importing

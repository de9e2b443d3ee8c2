// The one record that workers and importers produce, and that judge, cost, compare and report read.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

enum class Outcome { ok, wrong_result, unstable, unsupported, timed_out, crashed, failed };

std::string_view to_string(Outcome outcome);
std::optional<Outcome> outcome_from(std::string_view word);

// Of the repetitions of one measurement, all in the measurement's unit. Formulas: harness/statistics.h.
struct Statistics {
  double median = 0;
  double min = 0;
  double max = 0;
  double cv = 0;                                  // standard deviation / mean, 0.01 is 1 %
  std::optional<std::pair<double, double>> ci95;  // interval of the median; unset below 6 samples
  std::vector<double> samples;
};

struct DeviceValue {
  int index = 0;
  std::string name;
  std::optional<double> value;                         // median over repetitions
  std::optional<std::pair<double, double>> ci95 = {};  // interval of that median; unset below 6 samples
};

struct Measurement {
  std::string id;      // benchmark and case: "gemm.fp32/n:4096"
  std::string metric;  // key of results-schema/metrics.json
  std::optional<double>
      value;  // median; of the slowest device where several worked; unset unless something was measured
  std::string unit;
  Outcome status = Outcome::failed;
  std::string reason;  // empty only when status is ok
  std::optional<Statistics> statistics;
  nlohmann::json conditions = nlohmann::json::object();  // method, data_type, shape, bytes, ranks, nodes, pattern, ...
  std::vector<DeviceValue> devices;
  nlohmann::json evidence = nlohmann::json::object();
  bool is_virtual = false;
  bool estimate = false;

  // Counts for claims and cost: measured, right and stable.
  bool usable() const { return status == Outcome::ok && value.has_value(); }
};

// A fact about the machine worth saying: driver missing, CPU steal, another process on the GPU.
struct Finding {
  std::string id;         // stable: "cpu.steal"
  std::string severity;   // "info", "warning", "error"
  std::string text;       // one sentence
  std::string next_step;  // may be empty
  nlohmann::json evidence = nlohmann::json::object();
  std::string cause = {};  // likely, of its kind (docs/findings.md); may be empty
};

}  // namespace claimcheck

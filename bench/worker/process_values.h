// What each process of a run measured for itself, and which one holds the others back.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kernels/device.h"

namespace claimcheck::bench {

// `seconds`: of all its iterations, without waiting for others; `value` in the unit of the metric; `name` of its
// device.
struct ProcessValue {
  double seconds = 0;
  std::optional<double> value;
  std::string name;
};

// {"processes": [{"process", "node", "name", "value"}, ...], "slowest_process": {...}} of those that had a part; empty
// for a single process.
// Called by all processes.
nlohmann::json process_values(kernels::World& world, const ProcessValue& mine);

}  // namespace claimcheck::bench

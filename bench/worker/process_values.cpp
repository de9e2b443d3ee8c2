#include "bench/worker/process_values.h"

#include <algorithm>
#include <vector>

namespace claimcheck::bench {

using nlohmann::json;

json process_values(kernels::World& world, const ProcessValue& mine) {
  if (world.processes() == 1) return json::object();
  const json own = {
      {"seconds", mine.seconds}, {"value", mine.value ? json(*mine.value) : json(nullptr)}, {"name", mine.name}};
  json processes = json::array();
  std::vector<double> seconds;
  int process = 0;
  for (const std::string& text : world.gather(own.dump(-1, ' ', false, json::error_handler_t::replace))) {
    json entry = json::parse(text);
    entry["process"] = process;
    entry["node"] = world.node_of(process++);
    if (entry["seconds"] == 0.0) continue;  // it had no part
    seconds.push_back(entry["seconds"]);
    entry.erase("seconds");
    processes.push_back(std::move(entry));
  }
  if (seconds.empty()) return json::object();
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  const double fastest = *std::min_element(seconds.begin(), seconds.end());
  json slow = processes[static_cast<std::size_t>(slowest - seconds.begin())];
  if (fastest > 0) slow["times_fastest"] = *slowest / fastest;
  return {{"processes", std::move(processes)}, {"slowest_process", std::move(slow)}};
}

}  // namespace claimcheck::bench

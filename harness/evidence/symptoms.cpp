#include "harness/evidence/symptoms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/evidence/derived.h"
#include "harness/judge/headline.h"
#include "harness/judge/machine.h"
#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr double usual_difference = 0.05;  // between healthy devices

bool lower_is_better(const Measurement& measurement) {
  const Metric* metric = find_metric(measurement.metric);
  return metric != nullptr && metric->better == Better::lower;
}

double least_loss(const Measurement& measurement) {
  const Metric* metric = find_metric(measurement.metric);
  return std::max(usual_difference, metric == nullptr ? 0 : metric->tolerance);
}

// Times become rates and back.
double as_rate(const Measurement& measurement, double value) {
  return lower_is_better(measurement) ? 1 / value : value;
}

class Collector {
 public:
  void add(const Measurement& measurement, Part part, const Slow& slow, bool alone = false) {
    keep({&measurement, part, slow.index, -1, alone, as_rate(measurement, slow.rate), as_rate(measurement, slow.usual),
          slow.loss()});
  }

  void add(const Measurement& measurement, Part part, const SlowPair& pair) {
    keep({&measurement, part, pair.from, pair.to, false, as_rate(measurement, pair.rate),
          as_rate(measurement, pair.usual), pair.loss()});
  }

  std::vector<Symptom> take() { return std::move(symptoms_); }

 private:
  void keep(const Symptom& symptom) {
    for (Symptom& known : symptoms_) {
      if (known.part != symptom.part || known.index != symptom.index || known.other != symptom.other) continue;
      if (known.measurement->metric != symptom.measurement->metric) continue;
      if (symptom.loss > known.loss) known = symptom;
      return;
    }
    symptoms_.push_back(symptom);
  }

  std::vector<Symptom> symptoms_;
};

void compare(const Measurement& measurement, Part part, const std::vector<Member>& members, Collector& found) {
  const double least = least_loss(measurement);
  for (const Slow& slow : slow_ones(members, least)) found.add(measurement, part, slow);
  if (const auto slow = slower_of_two(members, least)) found.add(measurement, part, *slow, true);
}

void look_at_devices(const Document& document, const Measurement& measurement, Collector& found) {
  std::vector<Member> members;
  for (const DeviceValue& device : measurement.devices) {
    if (!device.value || !(*device.value > 0)) continue;
    members.push_back({device_of(document, 0, device.index), as_rate(measurement, *device.value)});
  }
  compare(measurement, Part::device, members, found);
}

struct Process {
  int process = 0;
  int node = 0;
  double rate = 0;
};

std::vector<Process> processes_of(const Measurement& measurement) {
  std::vector<Process> processes;
  const json list = measurement.evidence.value("processes", json());
  if (!list.is_array()) return processes;
  for (const json& entry : list) {
    const auto process = number_at(entry, "/process");
    const auto node = number_at(entry, "/node");
    const auto value = number_at(entry, "/value");
    if (!process || !node || !value || !(*value > 0)) return {};
    processes.push_back({static_cast<int>(*process), static_cast<int>(*node), as_rate(measurement, *value)});
  }
  return processes;
}

// Every process of one node is behind every process of the other: the node lags, not one of its devices.
bool apart(const std::vector<Process>& processes, int slow_node) {
  double best_of_slow = 0;
  double worst_of_fast = 0;
  for (const Process& process : processes) {
    if (process.node == slow_node) {
      best_of_slow = std::max(best_of_slow, process.rate);
    } else if (worst_of_fast == 0 || process.rate < worst_of_fast) {
      worst_of_fast = process.rate;
    }
  }
  return best_of_slow < worst_of_fast;
}

// In a collective each process waits for the others, and in a sweep most do nothing: their times say nothing of them.
bool works_for_itself(const Measurement& measurement) {
  const Metric* metric = find_metric(measurement.metric);
  return metric == nullptr || metric->per == "device" || measurement.metric.starts_with("scaling.");
}

void look_at_processes(const Measurement& measurement, Collector& found) {
  if (!works_for_itself(measurement)) return;
  const std::vector<Process> processes = processes_of(measurement);
  std::map<int, double> best;  // a node lags when its best does
  for (const Process& process : processes) best[process.node] = std::max(best[process.node], process.rate);
  std::vector<Member> nodes;
  for (const auto& [node, rate] : best) nodes.push_back({node, rate});
  const double least = least_loss(measurement);
  std::set<int> slow_nodes;
  for (const Slow& slow : slow_ones(nodes, least)) {
    slow_nodes.insert(slow.index);
    found.add(measurement, Part::node, slow);
  }
  const auto of_two = slower_of_two(nodes, least);
  if (of_two && apart(processes, of_two->index)) {
    found.add(measurement, Part::node, *of_two, true);
    return;
  }
  if (processes.size() == nodes.size() && nodes.size() > 1) return;  // the node is the process
  std::vector<Member> members;
  for (const Process& process : processes)
    if (slow_nodes.count(process.node) == 0) members.push_back({process.process, process.rate});
  compare(measurement, Part::process, members, found);
}

RateMatrix rates_in(const Measurement& measurement) {
  RateMatrix rates;
  for (const char* name : {"matrix_gbps", "matrix_us", "matrix_ns"}) {
    const json matrix = measurement.evidence.value(name, json());
    if (!matrix.is_array()) continue;
    for (const json& row : matrix) {
      if (!row.is_array() || row.size() != matrix.size()) return {};
      rates.emplace_back();
      for (const json& value : row) {
        const bool usable = value.is_number() && value.get<double>() > 0;
        rates.back().push_back(usable ? std::optional(as_rate(measurement, value.get<double>())) : std::nullopt);
      }
    }
    return rates;
  }
  return rates;
}

int whole(const json& value) { return value.is_number() ? static_cast<int>(value.get<double>()) : -1; }

// A sweep over pairs of nodes has measured its suspects again, alone: what it found counts more than the matrix.
void look_at_sweep(const Measurement& measurement, Collector& found) {
  const json& evidence = measurement.evidence;
  const auto level = number_at(evidence, "/level_gbps");
  if (!level || !(*level > 0)) return;
  for (const json& node : evidence.value("guilty_nodes", json::array())) {
    const auto rate = number_at(evidence, fmt::format("/node_medians_gbps/{}", std::max(0, whole(node))));
    if (whole(node) >= 0 && rate) found.add(measurement, Part::node, Slow{whole(node), *rate, *level});
  }
  for (const json& link : evidence.value("guilty_links", json::array())) {
    if (!link.is_array() || link.size() != 2 || whole(link[0]) < 0 || whole(link[1]) < 0) continue;
    auto rate = number_at(evidence, fmt::format("/node_matrix_gbps/{}/{}", whole(link[0]), whole(link[1])));
    for (const json& again : evidence.value("measured_again", json::array()))
      if (again.value("nodes", json()) == link) rate = number_at(again, "/alone_gbps");
    if (rate) found.add(measurement, Part::node, SlowPair{whole(link[0]), whole(link[1]), *rate, *level});
  }
}

void look_at_links(const Measurement& measurement, Collector& found) {
  if (measurement.evidence.contains("guilty_nodes")) return look_at_sweep(measurement, found);
  const Part part = measurement.metric.starts_with("network.") ? Part::node : Part::device;
  const SlowLinks slow = slow_links(rates_in(measurement), least_loss(measurement));
  for (const Slow& member : slow.members) found.add(measurement, part, member);
  for (const SlowPair& pair : slow.pairs) found.add(measurement, part, pair);
}

}  // namespace

int device_of(const Document& document, int process, int local) {
  const auto devices = document.system.find("devices");
  if (devices == document.system.end() || !devices->is_array()) return local;
  int count = 0;
  for (const json& device : *devices) {
    const auto owner = number_at(device, "/facts/process");
    if (!owner || static_cast<int>(*owner) != process) continue;
    if (count++ == local) return static_cast<int>(number_at(device, "/index").value_or(local));
  }
  return local;
}

std::vector<Symptom> symptoms_of(const Document& document) {
  Collector found;
  std::set<std::string> seen;
  for (const Measurement& measurement : document.measurements) {
    // Metrics that a benchmark gives beside its own carry the evidence of the first.
    const bool own = seen.insert(measurement.id).second;
    if (!measurement.usable() || !counts(document, measurement) || is_derived(measurement)) continue;
    look_at_devices(document, measurement, found);
    if (!own) continue;
    look_at_processes(measurement, found);
    look_at_links(measurement, found);
  }
  return found.take();
}

}  // namespace claimcheck

#include "harness/scale/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/error.h"
#include "harness/judge/headline.h"
#include "harness/judge/machine.h"
#include "harness/nearest.h"
#include "harness/report/quantity.h"
#include "harness/scale/links.h"
#include "harness/scale/parts.h"

namespace claimcheck::scale {
namespace {

constexpr double latency_bytes = 8;  // the message of allreduce.latency.us
constexpr double limit_share = 0.95;

// Of ranks or nodes; unset where the result does not say or says nonsense.
std::optional<int> count_of(const Measurement& measurement, const char* name) {
  constexpr double most = 1e8;
  const nlohmann::json count = condition_of(measurement, name);
  if (!count.is_number() || !(count.get<double>() >= 1) || count.get<double>() > most) return std::nullopt;
  const double value = count.get<double>();
  return value == std::floor(value) ? std::optional(static_cast<int>(value)) : std::nullopt;
}

std::optional<TimedSize> timed(const Measurement& measurement, int ranks) {
  const double value = *measurement.value;
  if (!(value > 0)) return std::nullopt;
  if (measurement.metric == "allreduce.latency.us") return TimedSize{latency_bytes, value * 1e-6};
  const nlohmann::json bytes = condition_of(measurement, "bytes");
  if (!bytes.is_number() || bytes.get<double>() <= 0) return std::nullopt;
  return TimedSize{bytes.get<double>(), bus_factor(ranks) * bytes.get<double>() / (value * 1e9)};
}

bool in_place(const Measurement& measurement) {
  return flag_at(measurement.conditions, "in_place") || measurement.id.ends_with("/in_place");
}

// The latency benchmark times 8 bytes best; a rate of so few bytes is mostly rounding.
void add_point(Curve& curve, const TimedSize& point, bool replace) {
  for (TimedSize& known : curve.points) {
    if (known.bytes != point.bytes) continue;
    if (replace) known = point;
    return;
  }
  curve.points.push_back(point);
}

Curve& curve_of(std::vector<Curve>& curves, int nodes, int ranks) {
  for (Curve& curve : curves) {
    if (curve.nodes == nodes && curve.ranks == ranks) return curve;
  }
  return curves.emplace_back(Curve{nodes, ranks, {}, {}});
}

// What the library said it used, of the largest size so far.
void note_algorithm(Curve& curve, const Measurement& measurement, double bytes) {
  const auto larger = [bytes](const TimedSize& point) { return point.bytes > bytes; };
  if (std::any_of(curve.points.begin(), curve.points.end(), larger)) return;
  const auto group = measurement.evidence.find("group");
  if (group == measurement.evidence.end()) return;
  curve.algorithm = text_at(*group, "algorithm");
  std::transform(curve.algorithm.begin(), curve.algorithm.end(), curve.algorithm.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

const Platform* platform_of(const Document* document, const Catalog& catalog, const MachineOptions& options) {
  if (options.instance) {
    if (const Platform* platform = catalog.find_platform(*options.instance)) return platform;
    const std::string near = quoted_choice(catalog.near_platforms(*options.instance));
    throw UserError(fmt::format("--instance '{}' is not in the catalog{}", *options.instance,
                                near.empty() ? "" : ": did you mean " + near + "?"));
  }
  if (document == nullptr) return nullptr;
  for (const char* key : {"catalog_id", "instance"}) {
    const std::string name = text_at(document->platform, key);
    if (name.empty()) continue;
    if (const Platform* platform = catalog.find_platform(name)) return platform;
  }
  return nullptr;
}

const Accelerator* accelerator_of(const Document* document, const Catalog& catalog, const Platform* platform) {
  if (platform != nullptr && !platform->accelerator.empty()) return catalog.find_accelerator(platform->accelerator);
  const auto seen = document == nullptr ? std::nullopt : accelerators_seen(*document);
  return seen && !seen->empty() ? catalog.find_accelerator(seen->front()) : nullptr;
}

int ranks_per_node(const Document* document, const std::vector<Curve>& curves, const Platform* platform,
                   const MachineOptions& options) {
  if (options.ranks_per_node) return *options.ranks_per_node;
  int measured = 0;
  for (const Curve& curve : curves) {
    if (curve.nodes == 1) measured = std::max(measured, curve.ranks);
  }
  for (const Curve& curve : curves) {
    if (measured == 0 && curve.ranks % curve.nodes == 0) measured = curve.ranks / curve.nodes;
  }
  if (measured > 0) return measured;
  if (platform != nullptr && platform->accelerator_count.value_or(0) > 0) return *platform->accelerator_count;
  const auto seen = document == nullptr ? std::nullopt : accelerators_seen(*document);
  if (seen && !seen->empty()) return static_cast<int>(seen->size());
  if (document == nullptr) throw UserError("how many GPUs a node has is not known: give --gpus-per-node N");
  throw UserError(
      "the result holds no usable all-reduce and does not say how many GPUs the machine has: measure one (claimcheck "
      "run "
      "--only 'allreduce*'), or give --instance or --gpus-per-node",
      ExitCode::incomplete);
}

std::string algorithm_of_node(const std::vector<Curve>& curves, const Machine& machine) {
  for (const Curve& curve : curves) {
    if (curve.nodes == 1 && curve.ranks == machine.fabric.ranks_per_node) return curve.algorithm;
  }
  return {};
}

// The measured fit of one node speaks for the tier inside it.
void use_measured_node(const AlphaBeta& fit, const std::string& algorithm, bool may_add, bool from_catalog, bool host,
                       Machine& machine) {
  Fabric& fabric = machine.fabric;
  const double bus = fit.bytes_per_second * bus_factor(fabric.ranks_per_node);
  const bool in_switch = algorithm.empty() ? may_add && (!from_catalog || bus > fabric.ring_rate)
                                           : algorithm.find("nvls") != std::string::npos;
  const std::string basis =
      fmt::format("measured: time = {} us + size / {} GB/s, {} sizes, off by {} rms, at most {} at {}",
                  number_text(fit.alpha_seconds * 1e6), number_text(fit.bytes_per_second / 1e9), fit.points,
                  percent_text(fit.rms_residual), percent_text(fit.worst_residual), binary_bytes_text(fit.worst_bytes));
  if (in_switch) {
    fabric.in_switch_rate = fit.bytes_per_second;
    std::erase_if(machine.facts, [](const Fact& fact) { return !fact.name.starts_with("ring"); });
    machine.facts.push_back(rate_fact("all-reduce in the switch, size / time", fit.bytes_per_second, basis, false));
    if (!from_catalog) fabric.ring_rate = bus;
  } else {
    fabric.in_switch_rate.reset();
    fabric.ring_rate = bus;
    machine.facts.clear();
    machine.facts.push_back(rate_fact("ring inside a node", bus, basis, false));
  }
  if (host) fabric.inside = Link::memory;
  fabric.overhead_seconds = fit.alpha_seconds - one_node_alpha(fabric);
}

// What several nodes reached says what their network carries: at least what was needed, exactly that where the nodes
// inside could do more.
void use_measured_nodes(int nodes, const AlphaBeta& fit, Machine& machine) {
  Fabric& fabric = machine.fabric;
  const int ranks = nodes * fabric.ranks_per_node;
  const double needed = network_rate_for(fit.bytes_per_second, ranks, nodes);
  Fabric free = fabric;
  free.network_rate = 1e18;
  const bool node_limits = fit.bytes_per_second >= limit_share * asymptotic_rate(free, nodes);
  if (node_limits && fabric.network_rate.value_or(0) >= needed) return;
  fabric.network_rate = needed;
  std::erase_if(machine.facts, [](const Fact& fact) { return fact.name.starts_with("network"); });
  machine.facts.push_back(
      rate_fact("network of a node, one way", needed,
                fmt::format("measured: what {} nodes needed{}, {} sizes, off by {} rms", nodes,
                            node_limits ? ", at least" : "", fit.points, percent_text(fit.rms_residual)),
                false));
}

// What a step between nodes costs, from the start of an all-reduce over several.
void use_measured_start(int nodes, const AlphaBeta& fit, Machine& machine) {
  Fabric& fabric = machine.fabric;
  const double levels = std::floor(std::log2(nodes));
  constexpr double large = 1e15;
  fabric.network_seconds = 0;
  const double known = best(fabric, nodes, large).alpha_seconds;
  fabric.network_seconds = std::max(0.0, (fit.alpha_seconds - known) / (2 * levels));
  std::erase_if(machine.facts, [](const Fact& fact) { return fact.name.starts_with("a step"); });
  machine.facts.push_back(
      {"a step between nodes, beyond NCCL's figure", fabric.network_seconds * 1e6, "us",
       fmt::format("measured: the start of {} us on {} nodes", number_text(fit.alpha_seconds * 1e6), nodes), false});
}

void add_fits(const std::vector<Curve>& curves, Machine& machine) {
  const int k = machine.fabric.ranks_per_node;
  for (const Curve& curve : curves) {
    if (curve.ranks != k * curve.nodes) {
      machine.notes.push_back(
          fmt::format("All-reduce of {} ranks on {} node{} is left out: the model counts {} a node.", curve.ranks,
                      curve.nodes, curve.nodes == 1 ? "" : "s", k));
      continue;
    }
    if (const auto fit = fit_alpha_beta(curve.points)) {
      machine.measured[curve.nodes] = *fit;
    } else {
      machine.notes.push_back(
          fmt::format("All-reduce on {} node{} was measured for fewer than two usable sizes: no line "
                      "can be laid through it.",
                      curve.nodes, curve.nodes == 1 ? "" : "s"));
    }
  }
}

void add_identity(const Document* document, const Platform* platform, const Accelerator* accelerator, bool host,
                  Machine& machine) {
  if (platform != nullptr) machine.instance = platform->id;
  std::string device = host ? "CPU core" : "GPU";
  if (accelerator != nullptr && !host) {
    machine.accelerator = accelerator->id;
    device = accelerator->name;
    if (accelerator->memory_gb) machine.memory_bytes = *accelerator->memory_gb * 1e9;
  }
  machine.name = fmt::format("{} x {}", machine.fabric.ranks_per_node, device);
  machine.is_virtual = document != nullptr && document->is_virtual;
}

bool on_host(const Document* document) { return document != nullptr && worker_kind(*document) == "host"; }

}  // namespace

std::vector<Curve> measured_curves(const Document& document) {
  std::vector<Curve> curves;
  for (const bool want_in_place : {false, true}) {
    for (const Measurement& measurement : document.measurements) {
      const bool latency = measurement.metric == "allreduce.latency.us";
      if (!latency && measurement.metric != "allreduce.busbw.gbps") continue;
      if (!measurement.usable() || !counts(document, measurement) || in_place(measurement) != want_in_place) continue;
      const auto ranks = count_of(measurement, "ranks");
      if (!ranks || *ranks < 2) continue;
      const int nodes = count_of(measurement, "nodes").value_or(1);
      if (const auto point = timed(measurement, *ranks)) {
        Curve& curve = curve_of(curves, nodes, *ranks);
        add_point(curve, *point, latency);
        note_algorithm(curve, measurement, point->bytes);
      }
    }
  }
  return curves;
}

Machine machine_of(const Document* document, const Catalog& catalog, const MachineOptions& options) {
  const Platform* platform = platform_of(document, catalog, options);
  const bool host = on_host(document);
  const Accelerator* accelerator = host && !options.instance ? nullptr : accelerator_of(document, catalog, platform);
  const std::vector<Curve> curves = document == nullptr ? std::vector<Curve>{} : measured_curves(*document);
  Machine machine;
  machine.fabric.ranks_per_node = ranks_per_node(document, curves, platform, options);
  add_identity(document, platform, accelerator, host, machine);
  const bool several = machine.fabric.ranks_per_node > 1;
  const bool from_catalog = !host && several && add_catalog_node(catalog, platform, accelerator, machine);
  add_fits(curves, machine);
  const auto node = machine.measured.find(1);
  if (node != machine.measured.end()) {
    const bool may_add = accelerator != nullptr && !host && switch_adds(*accelerator);
    use_measured_node(node->second, algorithm_of_node(curves, machine), may_add, from_catalog, host, machine);
  } else if (!from_catalog && several) {
    throw UserError(
        fmt::format("nothing is known of an all-reduce inside a node of {}: give --result with one that measured it "
                    "(claimcheck run --only 'allreduce*'), or --instance with a GPU instance of the catalog",
                    machine.name),
        ExitCode::incomplete);
  }
  if (machine.fabric.ring_rate == 0) machine.fabric.ring_rate = 1e18;  // one rank a node: nothing to cross inside
  add_network(platform, options.network_gbit, machine);
  for (const auto& [nodes, fit] : machine.measured) {
    if (nodes > 1) use_measured_nodes(nodes, fit, machine);
  }
  if (!machine.measured.empty() && machine.measured.rbegin()->first > 1) {
    use_measured_start(machine.measured.rbegin()->first, machine.measured.rbegin()->second, machine);
  }
  add_compute(document, catalog, accelerator, host, machine);
  return machine;
}

}  // namespace claimcheck::scale

#include "bench/worker/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace claimcheck::bench {

namespace {

using nlohmann::json;

std::string to_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json to_json(const Failure& failure) {
  return {{"outcome", static_cast<int>(failure.outcome)},
          {"reason", failure.reason},
          {"context_dead", failure.context_dead}};
}

json to_json(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

std::optional<double> optional_from(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

Failure failure_from(const json& value) {
  return {static_cast<kernels::Outcome>(value["outcome"].get<int>()), value["reason"].get<std::string>(),
          value["context_dead"].get<bool>()};
}

// Who waits for one that failed runs into its deadline: such a reason is none of its own. And who cannot do something
// explains less than one that failed at it.
int rank_of(kernels::Outcome outcome) {
  switch (outcome) {
    case kernels::Outcome::timed_out:
      return 2;
    case kernels::Outcome::unsupported:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::string place_of(const kernels::World& world, int process) {
  return fmt::format("process {} on node {}", process, world.node_of(process));
}

Failure agreed_failure(const kernels::World& world, const kernels::PhaseReports& reports) {
  std::optional<Failure> first;
  int process = 0;
  int failed = 0;
  bool dead = false;
  bool same = true;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i]) continue;
    ++failed;
    const Failure failure = failure_from(json::parse(*reports[i]));
    dead = dead || failure.context_dead;
    same = same && (!first || failure.reason == first->reason);
    if (first && rank_of(failure.outcome) >= rank_of(first->outcome)) continue;
    first = failure;
    process = static_cast<int>(i);
  }
  Failure result = first.value_or(Failure{});
  result.context_dead = dead;
  if (same && failed == static_cast<int>(reports.size())) return result;
  const std::string others =
      failed == 1 ? "" : fmt::format(" ({} of {} processes failed)", failed, static_cast<int>(reports.size()));
  result.reason = fmt::format("{}{}: {}", place_of(world, process), others, result.reason);
  return result;
}

std::optional<Failure> agree(kernels::World& world, const std::optional<Failure>& mine) {
  if (world.processes() == 1) return mine;
  std::optional<std::string> report;
  if (mine) report = to_text(to_json(*mine));
  try {
    const kernels::PhaseReports reports = world.end_phase(report);
    return reports.empty() ? std::nullopt : std::optional(agreed_failure(world, reports));
  } catch (...) {
    return mine ? mine : std::optional(current_failure());
  }
}

std::vector<ListedCase> share_cases(kernels::World& world, const std::vector<ListedCase>& mine) {
  if (world.processes() == 1) return mine;
  json list = json::array();
  for (const ListedCase& listed : mine)
    list.push_back({{"benchmark", listed.benchmark->id},
                    {"label", listed.chosen.label},
                    {"value", listed.chosen.value},
                    {"variant", listed.chosen.variant},
                    {"quick", listed.chosen.quick},
                    {"setup_seconds", to_json(listed.chosen.setup_seconds)},
                    {"iteration_seconds", to_json(listed.chosen.iteration_seconds)},
                    {"id", listed.id},
                    {"failure", listed.failure ? to_json(*listed.failure) : json(nullptr)}});
  std::string text = to_text(list);
  std::uint64_t size = text.size();
  world.broadcast(std::as_writable_bytes(std::span(&size, 1)));
  text.resize(size);
  world.broadcast(std::as_writable_bytes(std::span(text)));
  std::vector<ListedCase> result;
  for (const json& entry : json::parse(text)) {
    const std::string benchmark = entry["benchmark"];
    ListedCase listed;
    for (const Benchmark& known : all())
      if (known.id == benchmark) listed.benchmark = &known;
    listed.chosen.label = entry["label"];
    listed.chosen.value = entry["value"];
    listed.chosen.variant = entry["variant"];
    listed.chosen.quick = entry["quick"];
    listed.chosen.setup_seconds = optional_from(entry["setup_seconds"]);
    listed.chosen.iteration_seconds = optional_from(entry["iteration_seconds"]);
    listed.id = entry["id"];
    if (!entry["failure"].is_null()) listed.failure = failure_from(entry["failure"]);
    result.push_back(std::move(listed));
  }
  return result;
}

}  // namespace claimcheck::bench

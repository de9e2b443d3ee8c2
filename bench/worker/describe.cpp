#include "bench/worker/describe.h"

#include "bench/facts_json.h"

namespace claimcheck::bench {

namespace {

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::each_device:
      return "each_device";
    case Scope::ranks:
      return "ranks";
    case Scope::machine:
      return "machine";
  }
  return "machine";
}

// A size nobody knows is null.
nlohmann::json known(std::size_t value) { return value == 0 ? nlohmann::json(nullptr) : nlohmann::json(value); }

nlohmann::json describe(const kernels::DeviceFacts& facts) {
  return {{"index", facts.index},
          {"name", facts.name},
          {"uuid", facts.uuid.empty() ? nlohmann::json(nullptr) : nlohmann::json(facts.uuid)},
          {"memory_bytes", known(facts.memory_bytes)},
          {"free_memory_bytes", known(facts.free_memory_bytes)},
          {"last_level_cache_bytes", known(facts.last_level_cache_bytes)},
          {"compute_units", facts.compute_units == 0 ? nlohmann::json(nullptr) : nlohmann::json(facts.compute_units)},
          {"virtual", facts.is_virtual},
          {"facts", to_json(facts.more)}};
}

nlohmann::json describe(const ListedCase& listed) {
  const Benchmark& benchmark = *listed.benchmark;
  nlohmann::json also = nlohmann::json::array();
  for (const auto& [metric, unit] : benchmark.also) also.push_back({{"metric", metric}, {"unit", unit}});
  nlohmann::json entry = {{"id", listed.id},
                          {"benchmark", benchmark.id},
                          {"metric", benchmark.metric},
                          {"unit", benchmark.unit},
                          {"method", benchmark.method},
                          {"scope", to_string(benchmark.scope)},
                          {"summary", benchmark.summary},
                          {"priority", benchmark.priority},
                          {"quick", benchmark.quick && listed.chosen.quick},
                          {"soak", benchmark.soak},
                          {"setup_seconds", listed.chosen.setup_seconds.value_or(benchmark.setup_seconds)},
                          {"iteration_seconds", listed.chosen.iteration_seconds.value_or(benchmark.iteration_seconds)},
                          {"also", std::move(also)}};
  if (listed.failure) entry["unsupported"] = listed.failure->reason;
  return entry;
}

}  // namespace

nlohmann::json describe(kernels::Platform& platform, kernels::World& world, const std::vector<ListedCase>& cases) {
  nlohmann::json mine = {{"ranks", platform.ranks().size()}, {"devices", nlohmann::json::array()}};
  for (const kernels::Device* device : platform.devices()) mine["devices"].push_back(describe(device->facts()));
  nlohmann::json devices = nlohmann::json::array();
  std::size_t ranks = 0;
  const std::vector<std::string> all =
      world.gather(mine.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  for (std::size_t process = 0; process < all.size(); ++process) {
    const nlohmann::json theirs = nlohmann::json::parse(all[process]);
    ranks += theirs["ranks"].get<std::size_t>();
    for (nlohmann::json device : theirs["devices"]) {
      device["index"] = devices.size();
      if (all.size() > 1)
        device["facts"].update({{"process", process}, {"node", world.node_of(static_cast<int>(process))}});
      devices.push_back(std::move(device));
    }
  }
  nlohmann::json benchmarks = nlohmann::json::array();
  for (const ListedCase& listed : cases) benchmarks.push_back(describe(listed));
  nlohmann::json document = {
      {"schema_version", "1.0"}, {"worker", platform.kind()},     {"platform", to_json(platform.facts())},
      {"ranks", ranks},          {"devices", std::move(devices)}, {"benchmarks", std::move(benchmarks)}};
  if (all.size() > 1) document.update({{"processes", all.size()}, {"nodes", world.nodes()}});
  return document;
}

bool is_virtual(kernels::Platform& platform) {
  for (const kernels::Device* device : platform.devices())
    if (device->facts().is_virtual) return true;
  return false;
}

}  // namespace claimcheck::bench

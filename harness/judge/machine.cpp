#include "harness/judge/machine.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/result/metrics.h"

namespace claimcheck {
namespace {

using nlohmann::json;

const json& devices_of(const Document& document) {
  static const json none = json::array();
  const auto found = document.system.find("devices");
  return found != document.system.end() && found->is_array() ? *found : none;
}

}  // namespace

std::string text_at(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<json> objects_at(const json& object, const char* key) {
  std::vector<json> objects;
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_array()) return objects;
  std::copy_if(found->begin(), found->end(), std::back_inserter(objects),
               [](const json& one) { return one.is_object(); });
  return objects;
}

bool flag_at(const json& object, const char* key) {
  if (!object.is_object()) return false;
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::optional<double> number_at(const json& facts, const std::string& pointer) {
  const json::json_pointer place(pointer);
  if (!facts.contains(place) || !facts.at(place).is_number()) return std::nullopt;
  return facts.at(place).get<double>();
}

std::string worker_kind(const Document& document) {
  const auto worker = document.run.find("worker");
  if (worker == document.run.end()) return {};
  return worker->is_object() ? text_at(*worker, "kind") : text_at(document.run, "worker");
}

bool measured_on_host(const Document& document, const Measurement& measurement) {
  const std::string own = text_at(measurement.conditions, "worker");
  const std::string kind = own.empty() ? worker_kind(document) : own;
  if (!kind.empty()) return kind == "host";
  const std::string cpu = document.system.contains("cpu") ? text_at(document.system["cpu"], "model") : std::string();
  return !cpu.empty() && !measurement.devices.empty() && measurement.devices.front().name == cpu;
}

std::optional<std::vector<std::string>> accelerators_seen(const Document& document) {
  std::vector<std::string> names;
  const auto add_names = [&names](const json& devices) {
    for (const json& device : devices) {
      const std::string name = text_at(device, "name");
      names.push_back(name.empty() ? "unknown GPU" : name);
    }
  };
  const std::string kind = worker_kind(document);
  const json& devices = devices_of(document);
  const std::string cpu = document.system.contains("cpu") ? text_at(document.system["cpu"], "model") : std::string();
  const bool cpu_device = kind == "host" || (!devices.empty() && !cpu.empty() && text_at(devices[0], "name") == cpu);
  if (!cpu_device && !devices.empty()) {
    add_names(devices);
    return names;
  }
  const auto gpus = document.system.find("pci_gpus");
  if (gpus == document.system.end() || !gpus->is_array()) return std::nullopt;
  add_names(*gpus);
  return names;
}

std::size_t nodes_seen(const Document& document) {
  std::set<double> nodes;
  for (const nlohmann::json& device : document.system.value("devices", nlohmann::json::array()))
    if (const auto node = number_at(device, "/facts/node")) nodes.insert(*node);
  return std::max<std::size_t>(1, nodes.size());
}

std::size_t devices_at_work(const Measurement& measurement) {
  const auto ranks = number_at(measurement.conditions, "/ranks");
  const bool several = measurement.conditions.contains("processes") && ranks && *ranks >= 1 && *ranks < 1e6;
  return std::max<std::size_t>({1, measurement.devices.size(), several ? static_cast<std::size_t>(*ranks) : 0});
}

const Accelerator* accelerator_of_name(const Catalog& catalog, std::string_view name) {
  constexpr std::string_view simulated = " (virtual)";
  if (name.ends_with(simulated)) name.remove_suffix(simulated.size());
  return name.empty() ? nullptr : catalog.find_accelerator(name);
}

json device_facts(const Document& document, int index) {
  const json& devices = devices_of(document);
  for (const json& device : devices) {
    if (number_at(device, "/index").value_or(-1) != index) continue;
    json facts = device;
    // The worker's --describe says "facts"; "more" is what documents of other tools may have.
    for (const char* name : {"facts", "more"}) {
      const auto more = device.find(name);
      if (more != device.end() && more->is_object()) facts.update(*more);
    }
    return facts;
  }
  return json::object();
}

std::string gemm_data_type(std::string_view metric) {
  constexpr std::string_view family = "gemm.";
  if (!metric.starts_with(family)) return {};
  const std::string_view rest = metric.substr(family.size());
  return std::string(rest.substr(0, rest.find('.')));
}

std::string gemm_metric(std::string_view data_type) {
  const std::string name(data_type == "fp8" ? "fp8_e4m3" : data_type);
  for (const char* unit : {".tflops", ".tops"}) {
    std::string key = "gemm." + name + unit;
    if (find_metric(key) != nullptr) return key;
  }
  return {};
}

}  // namespace claimcheck

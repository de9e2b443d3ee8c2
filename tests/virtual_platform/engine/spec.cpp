#include "tests/virtual_platform/engine/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "tests/virtual_platform/engine/spec_fields.h"

namespace virtual_platform {
namespace {

using nlohmann::json;

void expect_one_of(const std::string& value, std::initializer_list<const char*> words, const std::string& pointer) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  throw std::runtime_error(fmt::format("{}: \"{}\" is none of \"{}\"", pointer, value, fmt::join(words, "\", \"")));
}

void read_figures(Fields& fields, Gpu& gpu) {
  fields.read("name", gpu.name);
  fields.read("uuid", gpu.uuid);
  fields.read("pci_bus_id", gpu.pci_bus_id);
  fields.read("sms", gpu.sms);
  fields.read("compute_capability", gpu.compute_capability);
  fields.read("memory_mib", gpu.memory_mib);
  fields.read("memory_used_mib", gpu.memory_used_mib);
  fields.read("l2_kib", gpu.l2_kib);
  fields.read("sm_clock_mhz", gpu.sm_clock_mhz);
  fields.read("sm_clock_max_mhz", gpu.sm_clock_max_mhz);
  fields.read("memory_clock_mhz", gpu.memory_clock_mhz);
  fields.read("memory_bus_bits", gpu.memory_bus_bits);
  fields.read("copy_engines", gpu.copy_engines);
  fields.read("numa_node", gpu.numa_node);
  fields.read("cores_per_sm", gpu.cores_per_sm);
  fields.read("memory_gbps", gpu.memory_gbps);
  fields.read("memory_latency_ns", gpu.memory_latency_ns);
  fields.read("l2_gbps", gpu.l2_gbps);
  fields.read("l2_latency_ns", gpu.l2_latency_ns);
  fields.read("gemm_tflops", gpu.gemm_tflops);
  fields.read("vector_tflops", gpu.vector_tflops);
  fields.read("tensor_tflops", gpu.tensor_tflops);
  fields.read("slowdown", gpu.slowdown);
  fields.read("jitter", gpu.jitter);
}

void read_sensors(Fields& fields, Gpu& gpu) {
  fields.read("power_watts", gpu.power_watts);
  fields.read("power_limit_watts", gpu.power_limit_watts);
  gpu.power_limit_default_watts = gpu.power_limit_max_watts = gpu.power_limit_watts;
  fields.read("power_limit_default_watts", gpu.power_limit_default_watts);
  fields.read("power_limit_min_watts", gpu.power_limit_min_watts);
  fields.read("power_limit_max_watts", gpu.power_limit_max_watts);
  fields.read("temperature_celsius", gpu.temperature_celsius);
  fields.read("memory_temperature_celsius", gpu.memory_temperature_celsius);
  fields.read("throttle_reasons", gpu.throttle_reasons);
  fields.read("ecc", gpu.ecc);
  fields.read("ecc_corrected", gpu.ecc_corrected);
  fields.read("ecc_uncorrected", gpu.ecc_uncorrected);
  fields.read("ecc_uncorrected_lifetime", gpu.ecc_uncorrected_lifetime);
  fields.read("application_clock_mhz", gpu.application_clock_mhz);
  fields.read("application_clock_default_mhz", gpu.application_clock_default_mhz);
  fields.read("other_processes", gpu.other_processes);
  fields.read("remapped_rows_corrected", gpu.remapped_rows_corrected);
  fields.read("remapped_rows_uncorrected", gpu.remapped_rows_uncorrected);
  fields.read("remapping_pending", gpu.remapping_pending);
  fields.read("remapping_failed", gpu.remapping_failed);
  fields.read("persistence", gpu.persistence);
  fields.read("virtualization", gpu.virtualization);
  fields.read("pcie_generation_max", gpu.pcie_generation_max);
  gpu.pcie_generation = gpu.pcie_generation_max;
  fields.read("pcie_generation", gpu.pcie_generation);
  fields.read("pcie_width_max", gpu.pcie_width_max);
  fields.read("pcie_width", gpu.pcie_width);
  fields.read("nvlinks", gpu.nvlinks);
  fields.read("nvlink_version", gpu.nvlink_version);
  fields.read("nvlinks_inactive", gpu.nvlinks_inactive);
  fields.read("fabric", gpu.fabric);
  fields.read("mig", gpu.mig);
  fields.read("mig_parent_uuid", gpu.mig_parent_uuid);
  fields.read("mig_parent_name", gpu.mig_parent_name);
  fields.read("mig_parent_memory_mib", gpu.mig_parent_memory_mib);
  fields.read("mig_parent_sms", gpu.mig_parent_sms);
  fields.read("mig_profile", gpu.mig_profile);
  fields.read("mig_gpu_instance", gpu.mig_gpu_instance);
  fields.read("lying_sensors", gpu.lying_sensors);
}

Gpu read_gpu(const json& object, const std::string& pointer, int index, int node) {
  Gpu gpu;
  Fields fields(object, pointer);
  read_figures(fields, gpu);
  read_sensors(fields, gpu);
  fields.finish();
  for (const std::string& reason : gpu.throttle_reasons) {
    expect_one_of(reason,
                  {"gpu_idle", "applications_clocks", "sw_power_cap", "hw_slowdown", "sync_boost",
                   "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake"},
                  pointer + "/throttle_reasons");
  }
  expect_one_of(gpu.ecc, {"enabled", "disabled", "unsupported"}, pointer + "/ecc");
  expect_one_of(gpu.persistence, {"enabled", "disabled"}, pointer + "/persistence");
  expect_one_of(gpu.virtualization, {"none", "passthrough", "vgpu"}, pointer + "/virtualization");
  expect_one_of(gpu.fabric, {"unsupported", "completed", "in_progress", "not_started"}, pointer + "/fabric");
  expect_one_of(gpu.mig, {"unsupported", "disabled", "instance"}, pointer + "/mig");
  // A result of this platform must never pass for a real one.
  if (!gpu.name.ends_with(" (virtual)"))
    throw std::runtime_error(fmt::format("{}/name: \"{}\" must end in \" (virtual)\"", pointer, gpu.name));
  if (gpu.uuid.empty())
    gpu.uuid = fmt::format("{}-{:08x}-0000-4000-8000-00000000{:04x}", gpu.mig == "instance" ? "MIG" : "GPU",
                           0xc1a10000U + static_cast<unsigned>(node) * 0x10000U + static_cast<unsigned>(index) * 0x101U,
                           index);
  if (gpu.pci_bus_id.empty()) gpu.pci_bus_id = fmt::format("0000:{:02X}:00.0", 0x10 + index);
  return gpu;
}

std::vector<Gpu> read_gpus(Fields& fields, int node) {
  int count = 1;
  fields.read("count", count);
  const json* all = fields.find("gpu");
  if (all == nullptr) throw std::runtime_error("/gpu: missing; it describes what all GPUs have in common");
  const json* own = fields.find("gpus");
  if (own != nullptr)
    for (const auto& [key, value] : Fields(*own, "/gpus").object().items())
      if (key.empty() || key.find_first_not_of("0123456789") != std::string::npos || std::stoi(key) >= count)
        throw std::runtime_error(fmt::format("/gpus/{}: expected the index of a GPU, 0 to {}", key, count - 1));
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; i++) {
    json object = *all;
    const std::string key = std::to_string(i);
    const bool special = own != nullptr && own->contains(key);
    if (special) object.merge_patch((*own)[key]);
    gpus.push_back(read_gpu(object, special ? "/gpus/" + key : "/gpu", i, node));
  }
  return gpus;
}

void read_links(const json& object, std::size_t gpus, Links& links) {
  Fields fields(object, "/links");
  fields.read("gbps", links.gbps);
  fields.read("bidirectional_gbps", links.bidirectional_gbps);
  fields.read("latency_ns", links.latency_ns);
  fields.read("matrix", links.matrix);
  fields.finish();
  const bool square = std::all_of(links.matrix.begin(), links.matrix.end(),
                                  [&](const std::vector<double>& row) { return row.size() == gpus; });
  if (!links.matrix.empty() && (links.matrix.size() != gpus || !square))
    throw std::runtime_error(fmt::format("/links/matrix: expected {} rows of {} figures", gpus, gpus));
}

void read_pcie(const json& object, Pcie& pcie) {
  Fields fields(object, "/pcie");
  fields.read("h2d_gbps", pcie.h2d_gbps);
  fields.read("d2h_gbps", pcie.d2h_gbps);
  fields.read("bidirectional_gbps", pcie.bidirectional_gbps);
  fields.read("kernel_gbps", pcie.kernel_gbps);
  fields.read("pageable_gbps", pcie.pageable_gbps);
  fields.read("latency_us", pcie.latency_us);
  fields.read("uplinks", pcie.uplinks);
  fields.read("uplink_gbps", pcie.uplink_gbps);
  fields.finish();
}

void read_times(const json& object, Times& times) {
  Fields fields(object, "/times");
  fields.read("api_us", times.api_us);
  fields.read("launch_latency_us", times.launch_latency_us);
  fields.read("kernel_floor_us", times.kernel_floor_us);
  fields.read("gap_us", times.gap_us);
  fields.finish();
}

void read_collectives(const json& object, Collectives& collectives) {
  Fields fields(object, "/collectives");
  fields.read("alpha_us", collectives.alpha_us);
  fields.read("step_us", collectives.step_us);
  fields.read("bus_gbps", collectives.bus_gbps);
  fields.read("algorithm", collectives.algorithm);
  fields.read("protocol", collectives.protocol);
  fields.read("transport", collectives.transport);
  fields.read("channels", collectives.channels);
  fields.finish();
}

void read_nodes(const json& object, Nodes& nodes) {
  Fields fields(object, "/nodes");
  fields.read("count", nodes.count);
  fields.find("own");  // merged in before
  if (const json* found = fields.find("network")) {
    Fields network(*found, "/nodes/network");
    network.read("kind", nodes.network.kind);
    network.read("nics", nodes.network.nics);
    network.read("nic_gbps", nodes.network.nic_gbps);
    network.read("latency_us", nodes.network.latency_us);
    network.read("gpu_direct", nodes.network.gpu_direct);
    network.finish();
  }
  fields.finish();
  expect_one_of(nodes.network.kind, {"efa", "ib", "socket"}, "/nodes/network/kind");
  if (nodes.count < 1 || nodes.count > 64) throw std::runtime_error("/nodes/count: expected 1 to 64");
  if (nodes.count > 1 && !(nodes.network.nic_gbps > 0 && nodes.network.nics > 0))
    throw std::runtime_error("/nodes/network: expected nics and nic_gbps above 0, since there is more than one node");
}

OperationFault read_fault(const json& object, const std::string& pointer) {
  OperationFault fault;
  Fields fields(object, pointer);
  fields.read("kind", fault.kind);
  fields.read("operation", fault.operation);
  fields.read("name", fault.name);
  fields.read("gpu", fault.gpu);
  fields.read("node", fault.node);
  fields.read("at", fault.at);
  fields.read("and_later", fault.and_later);
  fields.read("stays", fault.stays);
  fields.read("times", fault.times);
  fields.read("after_seconds", fault.after_seconds);
  fields.read("everywhere", fault.everywhere);
  fields.finish();
  expect_one_of(fault.kind, {"flipped_bit", "hang", "lost", "ecc", "error", "async_error", "killed", "slow"},
                pointer + "/kind");
  expect_one_of(fault.operation, {"copy", "kernel", "gemm", "collective", "nccl"}, pointer + "/operation");
  return fault;
}

void read_faults(const json& object, Faults& faults) {
  Fields fields(object, "/faults");
  fields.read("start_up", faults.start_up);
  fields.read("nvml", faults.nvml);
  fields.read("nvml_not_supported", faults.nvml_not_supported);
  if (const json* list = fields.find("operations"))
    for (std::size_t i = 0; i < list->size(); i++)
      faults.operations.push_back(read_fault((*list)[i], fmt::format("/faults/operations/{}", i)));
  fields.finish();
  expect_one_of(faults.start_up, {"", "no_driver", "old_driver", "no_device", "802", "803", "804"}, "/faults/start_up");
  expect_one_of(faults.nvml, {"", "missing", "old", "mismatch"}, "/faults/nvml");
}

Spec read_machine(const json& document, int node) {
  Spec machine;
  Fields fields(document, "");
  fields.read("note", machine.note);
  fields.read("source", machine.source);
  fields.read("driver_version", machine.driver_version);
  fields.read("cuda_driver_version", machine.cuda_driver_version);
  machine.gpus = read_gpus(fields, node);
  if (const json* links = fields.find("links")) read_links(*links, machine.gpus.size(), machine.links);
  if (const json* pcie = fields.find("pcie")) read_pcie(*pcie, machine.pcie);
  if (const json* times = fields.find("times")) read_times(*times, machine.times);
  if (const json* collectives = fields.find("collectives")) read_collectives(*collectives, machine.collectives);
  if (const json* nodes = fields.find("nodes")) read_nodes(*nodes, machine.nodes);
  if (const json* faults = fields.find("faults")) read_faults(*faults, machine.faults);
  fields.finish();
  if (!machine.driver_version.starts_with("virtual-"))
    throw std::runtime_error(
        fmt::format("/driver_version: \"{}\" must start with \"virtual-\"", machine.driver_version));
  return machine;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot be read; CLAIMCHECK_VIRTUAL_SPEC names a file of tests/virtual_platform");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The document with those it extends merged in, as RFC 7396 does it: objects member by member, all else replaced.
json document_of(const std::string& text, const std::filesystem::path& directory, int depth) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    throw std::runtime_error(fmt::format("not JSON: {}", error.what()));
  }
  if (!document.is_object() || !document.contains("extends")) return document;
  if (depth > 8) throw std::runtime_error("/extends: the files extend each other");
  if (!document["extends"].is_string()) throw std::runtime_error("/extends: expected a file name");
  const std::filesystem::path base = directory / document["extends"].get<std::string>();
  document.erase("extends");
  json merged;
  try {
    merged = document_of(contents(base), base.parent_path(), depth + 1);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("/extends: {}: {}", base.string(), error.what()));
  }
  merged.merge_patch(document);
  return merged;
}

// -1: not a number, which matters only where there are several nodes.
int chosen_node() {
  const char* text = std::getenv("CLAIMCHECK_NODE");
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == '\0' && number >= 0 && number < 64 ? static_cast<int>(number) : -1;
}

}  // namespace

int this_node() { return spec().nodes.count > 1 ? chosen_node() : 0; }

double Spec::link_gbps(int from, int owner) const {
  if (from == owner) return 0;
  if (links.matrix.empty()) return links.gbps;
  return links.matrix[static_cast<std::size_t>(from)][static_cast<std::size_t>(owner)];
}

Spec parse_spec(const std::string& text, const std::string& directory, int node) {
  json document = document_of(text, directory, 0);
  const json own = document.value(json::json_pointer("/nodes/own"), json::object());
  if (own.is_object() && own.contains(std::to_string(node))) document.merge_patch(own[std::to_string(node)]);
  return read_machine(document, node);
}

Spec read_spec(const std::string& path, int node) {
  try {
    return parse_spec(contents(path), std::filesystem::path(path).parent_path().string(), node);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

const Spec& spec() {
  // Never destroyed: libraries are used until the process is gone.
  static const Spec* machine = [] {
    const char* path = std::getenv("CLAIMCHECK_VIRTUAL_SPEC");
    try {
      const int node = chosen_node();
      Spec* read = new Spec(read_spec(path == nullptr ? "CLAIMCHECK_VIRTUAL_SPEC (not set)" : path, node));
      if (read->nodes.count > 1 && (node < 0 || node >= read->nodes.count))
        throw std::runtime_error(fmt::format("CLAIMCHECK_NODE is '{}', expected 0 to {}",
                                             std::getenv("CLAIMCHECK_NODE"), read->nodes.count - 1));
      return read;
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "virtual platform: %s\n", error.what());
      std::_Exit(2);
    }
  }();
  return *machine;
}

}  // namespace virtual_platform

// What machine is this: facts read from files below one root directory, never by running foreign programs and never
// over the network. A file that is absent or odd makes its fact unknown (null), not an error.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/measurement.h"

namespace claimcheck {

struct ProbeOptions {
  std::filesystem::path root = "/";  // tests point it at a small fabricated tree
  bool keep_identifiers = false;     // host name and instance id in clear instead of hashed
  // Environment to look at; unset: that of this process. Only the allow-list of docs/probe.md is ever kept.
  std::optional<std::map<std::string, std::string>> environment = {};
};

// The `system` object of a result document:
//   host, os{id,version,name}, kernel,
//   cpu{model, architecture, sockets, cores, threads, usable_cores, smt, numa_nodes, quota_cores, steal_fraction},
//   memory_bytes, memory_available_bytes, memory_limit_bytes (cgroup), swap_used_bytes, shm_bytes,
//   virtualization ("kvm", "none", ...), container ("docker", "none", ...),
//   pci_gpus[{address, vendor, device, driver, name}], nvidia_driver,
//   nics[{name, kind "ethernet"|"infiniband"|"efa", speed_gbps, state}], disks[{name, model, bytes, rotational}],
//   software{name: version or path}, environment{}
nlohmann::json probe_system(const ProbeOptions& options);

// The `platform` object: instance, provider, region (null when unknown), how ("cloud-init", "dmi" or "unknown"),
// instance_id (hashed), zone. Provider and instance are words `Catalog::find_platform("provider:instance")` takes.
nlohmann::json probe_platform(const ProbeOptions& options);
// The providers it knows by cloud-init's data or by DMI, each once.
std::vector<std::string> identified_providers();

// What is wrong already, from the facts alone: CPU quota, CPU steal, swap, little memory, a GPU without driver, a tiny
// /dev/shm. Each finding has a next step.
std::vector<Finding> system_findings(const nlohmann::json& system);

// "sha256:" and the first 16 hex digits of SHA-256(text), for identifiers that must not leave the machine.
std::string hashed(const std::string& text);

}  // namespace claimcheck

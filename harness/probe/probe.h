// What machine is this: facts read from files below one root directory, never by running foreign programs; of a rented
// machine also what its cloud's metadata service says. A file that is absent or odd, or a service that does not answer,
// makes its fact unknown (null), not an error.
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
//   software{name: newest version or "present"}, software_found[{name, version, where}],
//   startup{since, up_seconds, first_benchmark_seconds, ready_seconds, cloud_init, driver_seconds, reason},
//   environment{}
nlohmann::json probe_system(const ProbeOptions& options);

// The `platform` object: instance, provider, region, zone (null when unknown), instance_id (hashed), spot (bool or
// null), interruption {action, at} (null: none announced), how ("cloud-init", "dmi", "metadata", "environment", "files"
// or "unknown"), certain (whether the provider's mark is a documented one), metadata {service, status, reason,
// instance_on_disk?} (null: not asked). Provider and instance are words `Catalog::find_platform("provider:instance")`
// takes. On the real root the service of the cloud that files name is asked, 0.3 s in all; CLAIMCHECK_METADATA=off
// forbids it, and a loopback address there stands in for it. Throws UserError for anything else in that variable.
nlohmann::json probe_platform(const ProbeOptions& options);
// How a machine of this provider is known: "cloud-init, DMI, metadata", or "--instance".
std::string how_identified(const std::string& provider);

// What is wrong already, from the facts alone: CPU quota, CPU steal, swap, little memory, a GPU without driver, a tiny
// /dev/shm. Each finding has a next step.
std::vector<Finding> system_findings(const nlohmann::json& system);
// What its cloud did not say, or says is about to happen. `system` tells whether this is a container.
std::vector<Finding> platform_findings(const nlohmann::json& platform, const nlohmann::json& system);

// "sha256:" and the first 16 hex digits of SHA-256(text), for identifiers that must not leave the machine.
std::string hashed(const std::string& text);

}  // namespace claimcheck

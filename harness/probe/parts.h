// The parts of a probe; each reads its own corner of the tree. Shapes: harness/probe/probe.h.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/probe/tree.h"

namespace claimcheck::probe {

using Environment = std::map<std::string, std::string>;

Environment environment_of_process();

nlohmann::json cpu(const Tree& tree);
// memory_bytes, memory_available_bytes, memory_limit_bytes, swap_used_bytes, shm_bytes
nlohmann::json memory(const Tree& tree);
nlohmann::json pci_gpus(const Tree& tree);
nlohmann::json nics(const Tree& tree);
nlohmann::json disks(const Tree& tree);
nlohmann::json os(const Tree& tree);
nlohmann::json virtualization(const Tree& tree);
nlohmann::json container(const Tree& tree, const Environment& environment);
// {since "boot"|"container", up_seconds, first_benchmark_seconds (null when up for long), ready_seconds, cloud_init
// {status, finished_seconds, errors}, driver_seconds, and why first_benchmark_seconds and ready_seconds are null:
// reason, ready_reason}; seconds since that start.
nlohmann::json startup(const Tree& tree, const nlohmann::json& container);
// NCCL_*, OMP_* and CUDA_VISIBLE_DEVICES; nothing else may ever enter a result.
nlohmann::json allowed(const Environment& environment);

std::optional<std::string> nvidia_driver(const Tree& tree);

// null when unset.
template <typename T>
nlohmann::json known(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace claimcheck::probe

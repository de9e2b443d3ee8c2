// Counts operations and says which one goes wrong.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tests/virtual_platform/engine/spec.h"

namespace virtual_platform {

const OperationFault* next_fault(std::string_view operation, std::string_view name, int gpu) {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point first = Clock::now();
  static std::mutex mutex;
  static auto* counts = new std::vector<std::int64_t>(spec().faults.operations.size());
  const std::lock_guard lock(mutex);
  const OperationFault* hit = nullptr;
  for (std::size_t i = 0; i < counts->size(); i++) {
    const OperationFault& fault = spec().faults.operations[i];
    const bool looked_at = fault.operation == operation && (fault.gpu < 0 || fault.gpu == gpu) &&
                           (fault.node < 0 || fault.node == this_node()) &&
                           name.find(fault.name) != std::string_view::npos;
    if (!looked_at || std::chrono::duration<double>(Clock::now() - first).count() < fault.after_seconds) continue;
    const std::int64_t number = ++(*counts)[i];
    if (hit == nullptr && (number == fault.at || (fault.and_later && number > fault.at))) hit = &fault;
  }
  // As the kernel's out-of-memory killer does it.
  if (hit != nullptr && hit->kind == "killed") raise(SIGKILL);
  return hit;
}

std::string gone_file(int gpu) {
  const char* const file = std::getenv("CLAIMCHECK_VIRTUAL_SPEC");
  return std::string(file == nullptr ? "" : file) + ".gone." + std::to_string(gpu);
}

}  // namespace virtual_platform

// Memory of the GPUs and pinned memory of the host.
#include "tests/virtual_platform/engine/memory.h"

#include "tests/virtual_platform/cudart/runtime.h"

using namespace virtual_platform;          // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// As the runtime does, waits for the work of the memory's device first.
cudaError_t free_at(void* start, bool pinned) {
  int owner = host;
  Range range;
  {
    const std::lock_guard lock(engine_mutex());
    const Allocation* allocation = find_allocation(reinterpret_cast<Address>(start));
    if (allocation == nullptr || allocation->whole().begin != reinterpret_cast<Address>(start) ||
        (allocation->device == host) != pinned)
      return failed(cudaErrorInvalidValue);
    owner = allocation->device;
    range = allocation->whole();
  }
  const int first = pinned ? 0 : owner;
  const int last = pinned ? device_count() - 1 : owner;
  int error = 0;
  for (int index = first; index <= last; ++index)
    if (const int code = synchronise_device(index)) error = code;
  const std::lock_guard lock(engine_mutex());
  forget_memory(range);
  release(start);
  return result(error);
}

}  // namespace

CLAIMCHECK_EXPORT cudaError_t cudaMalloc(void** start, std::size_t bytes) {
  if (const cudaError_t status = enter_here("cudaMalloc", cudaErrorMemoryAllocation)) return status;
  *start = nullptr;
  if (bytes == 0) return cudaSuccess;
  const std::lock_guard lock(engine_mutex());
  *start = allocate(current_device(), bytes);
  return *start == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaFree(void* start) {
  if (const cudaError_t status = enter("cudaFree")) return status;
  return start == nullptr ? cudaSuccess : free_at(start, false);
}

CLAIMCHECK_EXPORT cudaError_t cudaHostAlloc(void** start, std::size_t bytes, unsigned /*flags*/) {
  if (const cudaError_t status = enter_here("cudaHostAlloc", cudaErrorMemoryAllocation)) return status;
  const std::lock_guard lock(engine_mutex());
  *start = allocate(host, bytes);
  return *start == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaFreeHost(void* start) {
  if (const cudaError_t status = enter("cudaFreeHost")) return status;
  return start == nullptr ? cudaSuccess : free_at(start, true);
}

CLAIMCHECK_EXPORT cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  if (const cudaError_t status = enter_here("cudaMemGetInfo")) return status;
  const Gpu& gpu = *device(current_device()).gpu;
  const std::lock_guard lock(engine_mutex());
  *total_bytes = static_cast<std::size_t>(gpu.memory_mib * 1048576);
  *free_bytes =
      static_cast<std::size_t>((gpu.memory_mib - gpu.memory_used_mib) * 1048576) - allocated_bytes(current_device());
  return cudaSuccess;
}

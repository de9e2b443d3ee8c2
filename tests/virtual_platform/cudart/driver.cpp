// The one function of the driver the product calls, found as the runtime finds it.
#include <cuda.h>

#include <atomic>
#include <cstring>

#include "tests/virtual_platform/cudart/runtime.h"
#include "tests/virtual_platform/engine/calls.h"

using namespace virtual_platform;          // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// Holds the stream back until the word in pinned memory is at least `value`.
CUresult stream_wait_value(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  if (const int code = fail_point("cuStreamWaitValue32", CUDA_ERROR_NOT_SUPPORTED)) return static_cast<CUresult>(code);
  Stream* known = as_stream(stream);
  if (known == nullptr || flags != CU_STREAM_WAIT_VALUE_GEQ || address % sizeof value != 0)
    return CUDA_ERROR_INVALID_VALUE;
  {
    const std::lock_guard lock(engine_mutex());
    const Allocation* allocation = find_allocation(Address{address});
    if (allocation == nullptr || allocation->device != host) return CUDA_ERROR_INVALID_VALUE;
  }
  auto* const word = reinterpret_cast<std::uint32_t*>(accessible(Address{address}));
  Work work{.kind = {}, .name = "cuStreamWaitValue32"};
  // The comparison is cyclic.
  work.ready = [=] { return static_cast<std::int32_t>(std::atomic_ref(*word).load() - value) >= 0; };
  return enqueue(*known, std::move(work)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

cudaError_t find(const char* symbol, void** function, cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(symbol, "cuStreamWaitValue32") == 0;
  *function = known ? reinterpret_cast<void*>(&stream_wait_value) : nullptr;
  if (found != nullptr) *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

}  // namespace

#if CUDART_VERSION >= 13000
CLAIMCHECK_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                               unsigned /*version*/, unsigned long long /*flags*/,
                                                               cudaDriverEntryPointQueryResult* found) {
  if (const cudaError_t status = enter("cudaGetDriverEntryPointByVersion", cudaErrorSymbolNotFound)) return status;
  return find(symbol, function, found);
}
#else
CLAIMCHECK_EXPORT cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long /*flags*/,
                                                      cudaDriverEntryPointQueryResult* found) {
  if (const cudaError_t status = enter("cudaGetDriverEntryPoint", cudaErrorSymbolNotFound)) return status;
  return find(symbol, function, found);
}
#endif

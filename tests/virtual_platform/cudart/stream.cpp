// Streams, events, and functions of the host in streams.
#include "tests/virtual_platform/engine/stream.h"

#include <atomic>
#include <memory>
#include <thread>

#include "tests/virtual_platform/cudart/runtime.h"

using namespace virtual_platform;          // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cudart;  // NOLINT(google-build-using-namespace)

// What a cudaEvent_t points to.
struct CUevent_st {
  int device = 0;
  bool timing = true;
  OperationPointer recorded;
};

CLAIMCHECK_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t status = enter_here("cudaStreamCreateWithFlags", cudaErrorMemoryAllocation)) return status;
  if (flags != cudaStreamNonBlocking) return failed(cudaErrorNotSupported);  // others would wait for default streams
  *stream = reinterpret_cast<cudaStream_t>(make_stream(current_device()));
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t status = enter("cudaStreamDestroy")) return status;
  Stream* known = stream == nullptr ? nullptr : as_stream(stream);
  if (known == nullptr) return failed(cudaErrorInvalidResourceHandle);
  destroy_stream(known);
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t status = enter("cudaStreamQuery", cudaErrorLaunchFailure)) return status;
  Stream* known = as_stream(stream);
  if (known == nullptr) return failed(cudaErrorInvalidResourceHandle);
  const std::lock_guard lock(engine_mutex());
  const bool done = is_done(*known);
  if (const int error = device(device_of(*known)).error) return result(error);
  return done ? cudaSuccess : failed(cudaErrorNotReady);
}

CLAIMCHECK_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const cudaError_t status = enter_here("cudaEventCreateWithFlags", cudaErrorMemoryAllocation)) return status;
  *event = new CUevent_st{current_device(), (flags & cudaEventDisableTiming) == 0, nullptr};
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  if (const cudaError_t status = enter_here("cudaEventCreate", cudaErrorMemoryAllocation)) return status;
  *event = new CUevent_st{current_device(), true, nullptr};
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const cudaError_t status = enter("cudaEventDestroy")) return status;
  delete event;
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t status = enter("cudaEventRecord", cudaErrorLaunchFailure)) return status;
  Stream* known = as_stream(stream);
  if (known == nullptr || event == nullptr || device_of(*known) != event->device)
    return failed(cudaErrorInvalidResourceHandle);
  return result(enqueue(*known, Work{.kind = {}, .name = "cudaEventRecord"}, &event->recorded));
}

CLAIMCHECK_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (const cudaError_t status = enter("cudaStreamWaitEvent", cudaErrorLaunchFailure)) return status;
  Stream* known = as_stream(stream);
  if (known == nullptr || event == nullptr || flags != cudaEventWaitDefault)
    return failed(cudaErrorInvalidResourceHandle);
  if (event->recorded) wait_for(*known, event->recorded);
  return cudaSuccess;
}

CLAIMCHECK_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  if (const cudaError_t status = enter("cudaEventElapsedTime", cudaErrorLaunchFailure)) return status;
  if (!start->timing || !stop->timing || !start->recorded || !stop->recorded || start->device != stop->device)
    return failed(cudaErrorInvalidResourceHandle);
  if (!is_timed(*start->recorded) || !is_timed(*stop->recorded)) return failed(cudaErrorNotReady);
  *milliseconds = static_cast<float>((end_of(*stop->recorded) - end_of(*start->recorded)) * 1e3);
  return cudaSuccess;
}

// The function runs on a thread of its own, as it may wait for one that is to call the runtime.
CLAIMCHECK_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (const cudaError_t status = enter("cudaLaunchHostFunc", cudaErrorLaunchFailure)) return status;
  Stream* known = as_stream(stream);
  if (known == nullptr) return failed(cudaErrorInvalidResourceHandle);
  struct State {
    bool started = false;
    std::atomic<bool> done = false;
  };
  const auto state = std::make_shared<State>();
  Work work{.kind = {}, .name = "cudaLaunchHostFunc"};
  work.ready = [=] {
    if (!state->started) {
      state->started = true;
      std::thread([=] {
        function(data);
        state->done = true;
        poke();
      }).detach();
    }
    return state->done.load();
  };
  return result(enqueue(*known, std::move(work)));
}

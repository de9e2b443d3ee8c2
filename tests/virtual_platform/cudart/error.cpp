// Errors: the thread's last one, names, texts (NVIDIA's own words, since users search for them).
#include <string>

#include "tests/virtual_platform/cudart/runtime.h"
#include "tests/virtual_platform/engine/calls.h"
#include "tests/virtual_platform/engine/clock.h"

namespace virtual_platform::cudart {

namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct Words {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define CLAIMCHECK_ERROR(code, text) \
  Words { code, #code, text }
constexpr Words all_words[] = {
    CLAIMCHECK_ERROR(cudaSuccess, "no error"),
    CLAIMCHECK_ERROR(cudaErrorInvalidValue, "invalid argument"),
    CLAIMCHECK_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    CLAIMCHECK_ERROR(cudaErrorInitializationError, "initialization error"),
    CLAIMCHECK_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    CLAIMCHECK_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    CLAIMCHECK_ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    CLAIMCHECK_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    CLAIMCHECK_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    CLAIMCHECK_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    CLAIMCHECK_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    CLAIMCHECK_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    CLAIMCHECK_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    CLAIMCHECK_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    CLAIMCHECK_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    CLAIMCHECK_ERROR(cudaErrorNotReady, "device not ready"),
    CLAIMCHECK_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    CLAIMCHECK_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    CLAIMCHECK_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    CLAIMCHECK_ERROR(cudaErrorNotSupported, "operation not supported"),
    CLAIMCHECK_ERROR(cudaErrorSystemNotReady, "system not yet initialized"),
    CLAIMCHECK_ERROR(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    CLAIMCHECK_ERROR(cudaErrorCompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW"),
    CLAIMCHECK_ERROR(cudaErrorUnknown, "unknown error")};
#undef CLAIMCHECK_ERROR

const Words* words_of(cudaError_t code) {
  for (const Words& words : all_words)
    if (words.code == code) return &words;
  return nullptr;
}

}  // namespace

cudaError_t failed(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

bool is_device(int index) { return index >= 0 && index < device_count(); }

namespace {

// After these every call on that GPU fails with the same code. cudaErrorUnknown may be of a call that needs no GPU.
bool is_fatal(int code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

// An ordered failure that ends a context stays, as on a GPU.
cudaError_t ordered_failure(int code) {
  if (is_fatal(code) && start_up_error() == 0) {
    const std::lock_guard lock(engine_mutex());
    int& stays = device(current_device()).error;
    if (stays == 0) stays = code;
  }
  return result(code);
}

}  // namespace

cudaError_t enter(const char* function, cudaError_t ordered, int index) {
  if (const int code = fail_point(function, ordered)) return ordered_failure(code);
  if (const int code = start_up_error()) return result(code);
  host_advance(spec().times.api_us * 1e-6);
  if (index < 0) return cudaSuccess;
  const std::lock_guard lock(engine_mutex());
  return result(device(index).error);
}

cudaError_t enter_here(const char* function, cudaError_t ordered) {
  if (const int code = start_up_error()) {
    fail_point(function, ordered);
    return result(code);
  }
  return enter(function, ordered, current_device());
}

}  // namespace virtual_platform::cudart

using namespace virtual_platform;          // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cudart;  // NOLINT(google-build-using-namespace)

CLAIMCHECK_EXPORT cudaError_t cudaGetLastError() {
  if (const int code = fail_point("cudaGetLastError", cudaErrorLaunchFailure)) return static_cast<cudaError_t>(code);
  const cudaError_t status = last_error;
  last_error = cudaSuccess;
  return status;
}

CLAIMCHECK_EXPORT const char* cudaGetErrorName(cudaError_t code) {
  fail_point("cudaGetErrorName", 0);
  const Words* words = words_of(code);
  return words == nullptr ? "unrecognized error code" : words->name;
}

CLAIMCHECK_EXPORT const char* cudaGetErrorString(cudaError_t code) {
  fail_point("cudaGetErrorString", 0);
  const Words* words = words_of(code);
  return words == nullptr ? "unrecognized error code" : words->text;
}

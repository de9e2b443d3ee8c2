// Shared by the files of the stand-in for the CUDA runtime. It has the functions the product calls and no others: a
// test compares the two lists.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/virtual_platform/engine/stream.h"

#define CLAIMCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace virtual_platform::cudart {

// Keeps the error for cudaGetLastError(), as every function of the runtime does.
cudaError_t failed(cudaError_t status);
inline cudaError_t result(int code) { return code == 0 ? cudaSuccess : failed(static_cast<cudaError_t>(code)); }

// At the entry of a function: the ordered failure, else what is wrong with the machine, else (when `index` names a
// device) with the device. Costs the host the time of an ordinary call.
cudaError_t enter(const char* function, cudaError_t ordered = cudaErrorUnknown, int index = -1);
// Of the current device.
cudaError_t enter_here(const char* function, cudaError_t ordered = cudaErrorUnknown);

bool is_device(int index);

}  // namespace virtual_platform::cudart

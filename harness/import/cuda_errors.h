// Errors of CUDA as programs print them, in words or as a number, and what they mean on a rented machine.
#pragma once

#include <string>
#include <string_view>

#include "harness/result/measurement.h"

namespace claimcheck::importing {

// Of "system not yet initialized", "error 802", "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY": the finding
// with cause and next step; of an unknown one the finding that says only that.
Finding cuda_error_finding(std::string_view text);

}  // namespace claimcheck::importing

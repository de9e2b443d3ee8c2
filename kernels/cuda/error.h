// Turns return codes of CUDA, cuBLASLt and NCCL into Error, with the library's own name of the code and a remedy.
// Every call of these libraries is wrapped: check(cudaMalloc(...)).
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <source_location>

#include "kernels/error.h"

namespace claimcheck::kernels::cuda {

using Place = std::source_location;

// Do nothing on success. Codes after which the device is lost to this process set context_dead; "not supported" codes
// are Outcome::unsupported.
void check(cudaError_t status, Place place = Place::current());
void check(cublasStatus_t status, Place place = Place::current());
void check(ncclResult_t status, Place place = Place::current());

// What a user can do about a code; empty when there is nothing to say.
std::string remedy_of(cudaError_t status);

// For destructors: an error is forgotten, since whoever waits for the stream sees it.
void ignore(cudaError_t status) noexcept;

}  // namespace claimcheck::kernels::cuda

#include "kernels/cuda/buffer.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/cuda/error.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

CudaBuffer::~CudaBuffer() {
  if (any_stuck_work()) return;
  ignore(placement_ == Placement::device ? cudaFree(address_) : cudaFreeHost(address_));
}

Error mistake(std::string text) {
  return Error(
      {.outcome = Outcome::failed, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}});
}

void* address_of(const Slice& slice, const char* what, std::size_t alignment) {
  if (slice.buffer == nullptr || slice.offset_bytes > slice.buffer->size_bytes() ||
      slice.size_bytes > slice.buffer->size_bytes() - slice.offset_bytes)
    throw mistake(fmt::format("{} ({} bytes from byte {}) does not lie within its buffer of {} bytes", what,
                              slice.size_bytes, slice.offset_bytes,
                              slice.buffer == nullptr ? 0 : slice.buffer->size_bytes()));
  if (slice.offset_bytes % alignment != 0)
    throw mistake(fmt::format("{} begins at byte {} of its buffer; expected a multiple of {}", what, slice.offset_bytes,
                              alignment));
  return slice.address();
}

std::unique_ptr<Buffer> allocate_on_gpu(std::size_t size_bytes, int ordinal) {
  const Current current(ordinal);
  void* address = nullptr;
  const cudaError_t status = cudaMalloc(&address, std::max<std::size_t>(size_bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    ignore(status);
    std::size_t free_bytes = 0;
    std::size_t all_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &all_bytes));
    throw Error({.outcome = Outcome::failed,
                 .library = "CUDA",
                 .code = cudaGetErrorName(status),
                 .text = fmt::format("{} bytes of GPU {}'s memory were asked for; {} of its {} bytes are free",
                                     size_bytes, ordinal, free_bytes, all_bytes),
                 .remedy = remedy_of(status)});
  }
  check(status);
  return std::make_unique<CudaBuffer>(address, size_bytes, Placement::device, ordinal);
}

}  // namespace claimcheck::kernels::cuda

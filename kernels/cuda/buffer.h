// Memory of a GPU, and pinned memory of the host that all GPUs reach.
#pragma once

#include <cstddef>

#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

class CudaBuffer final : public Buffer {
 public:
  // Takes over memory from cudaMalloc() or cudaHostAlloc(). `ordinal` is the GPU it belongs to, -1 for the host's.
  CudaBuffer(void* address, std::size_t size_bytes, Placement placement, int ordinal)
      : Buffer(address, size_bytes, placement), ordinal_(ordinal) {}
  // CUDA waits here for work that uses the memory. While work is stuck that would be for ever: the memory is left to
  // the end of the process.
  ~CudaBuffer() override;

  int ordinal() const { return ordinal_; }

 private:
  int ordinal_;
};

inline int ordinal_of(const Slice& slice) { return static_cast<const CudaBuffer*>(slice.buffer)->ordinal(); }

inline constexpr std::size_t vector_bytes = 16;  // of the kernels' loads and stores

// The slice's address. Throws failed when it leaves its buffer or is not aligned; `what` is how the sentence calls it:
// "array a".
void* address_of(const Slice& slice, const char* what, std::size_t alignment = vector_bytes);

// For what only a wrong caller can cause.
Error mistake(std::string text);

std::unique_ptr<Buffer> allocate_on_gpu(std::size_t size_bytes, int ordinal);

}  // namespace claimcheck::kernels::cuda

// Streams, timers and gates of a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "kernels/device.h"

namespace claimcheck::kernels::cuda {

// Makes a GPU the calling thread's current one, and the former one again at the end.
class Current {
 public:
  explicit Current(int ordinal);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = 0;
};

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int ordinal);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void wait(Duration deadline) override;
  bool done();  // throws an error of the work

  int ordinal() const { return ordinal_; }
  cudaStream_t handle() const { return handle_; }

 private:
  int ordinal_;
  cudaStream_t handle_ = nullptr;
};

CudaStream& cuda(Stream& stream);

std::unique_ptr<Timer> make_timer(int ordinal);
std::unique_ptr<Gate> make_gate();

}  // namespace claimcheck::kernels::cuda

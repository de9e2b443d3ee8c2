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
  // Zeroed device memory for kernels of this stream that keep it as they found it; allocated at the first call.
  void* scratch(std::size_t size_bytes);

  int ordinal() const { return ordinal_; }
  cudaStream_t handle() const { return handle_; }

 private:
  void set_stuck(bool stuck);

  int ordinal_;
  cudaStream_t handle_ = nullptr;
  std::unique_ptr<Buffer> scratch_;
  bool stuck_ = false;  // work did not end within its deadline
};

// Whether work that timed out may still run somewhere: what it uses must not be freed, and freeing would wait for it.
bool any_stuck_work();

CudaStream& cuda(Stream& stream);

// What is enqueued on `later` from now on waits for what is on `earlier` now.
void wait_for(CudaStream& later, CudaStream& earlier);

std::unique_ptr<Timer> make_timer(int ordinal);

// A held stream takes about 1000 operations; then CUDA makes the host wait for room, which never comes while the gate
// is shut. Enqueue fewer.
std::unique_ptr<Gate> make_gate();

}  // namespace claimcheck::kernels::cuda

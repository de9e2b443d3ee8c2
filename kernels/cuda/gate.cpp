// Gates: streams wait for a word of host memory by a command of the GPU itself (the driver's cuStreamWaitValue32), so
// that all start within a microsecond of its change; where the driver has no such command, by a function on the host.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

// Null where the driver has none. The driver's library is not linked: without a driver the worker could not even start.
WaitValue find_wait_value() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 13000
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint("cuStreamWaitValue32", &function, cudaEnableDefault, &found);
#endif
  ignore(status);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<WaitValue>(function);
}

// Words in pinned memory that streams wait for. They are never freed and only ever grow, so that a stream that looks at
// one late, when its gate is gone, finds it open.
class Words {
 public:
  static Words& instance() {
    static Words words;
    return words;
  }

  std::uint32_t* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      // Left to the end of the process.
      void* const page = allocate_pinned(page_words * sizeof(std::uint32_t), -1).release()->address();
      for (std::size_t i = 0; i < page_words; i += words_apart) {
        free_.push_back(static_cast<std::uint32_t*>(page) + i);
        *free_.back() = 0;
      }
    }
    std::uint32_t* const word = free_.back();
    free_.pop_back();
    return word;
  }

  void give_back(std::uint32_t* word) {
    const std::lock_guard lock(mutex_);
    free_.push_back(word);
  }

 private:
  static constexpr std::size_t page_words = 1024;
  static constexpr std::size_t words_apart = 32;  // a cache line of the GPU each

  std::mutex mutex_;
  std::vector<std::uint32_t*> free_;
};

// What host functions wait for; each holds a share of it.
struct HostState {
  std::mutex mutex;
  std::condition_variable opened;
  bool is_open = false;
};

void CUDART_CB wait_on_host(void* shared) {
  const std::unique_ptr<std::shared_ptr<HostState>> state(static_cast<std::shared_ptr<HostState>*>(shared));
  std::unique_lock lock((*state)->mutex);
  (*state)->opened.wait(lock, [&] { return (*state)->is_open; });
}

class CudaGate final : public Gate {
 public:
  ~CudaGate() override {
    open();  // nothing could open it later
    if (word_ != nullptr) Words::instance().give_back(word_);
  }
  CudaGate() = default;
  CudaGate(const CudaGate&) = delete;
  CudaGate& operator=(const CudaGate&) = delete;

  void hold(Stream& stream) override {
    const Current current(cuda(stream).ordinal());
    if (!hold_by_command(cuda(stream).handle())) hold_by_function(cuda(stream).handle());
  }

  void open() override {
    if (word_ != nullptr) std::atomic_ref(*word_).store(open_value_, std::memory_order_seq_cst);
    {
      const std::lock_guard lock(host_->mutex);
      host_->is_open = true;
    }
    host_->opened.notify_all();
  }

 private:
  bool hold_by_command(cudaStream_t stream) {
    static const WaitValue wait_value = find_wait_value();
    if (wait_value == nullptr) return false;
    if (word_ == nullptr) {
      word_ = Words::instance().take();
      open_value_ = *word_ + 1;
    }
    const CUresult status =
        wait_value(stream, reinterpret_cast<CUdeviceptr>(word_), open_value_, CU_STREAM_WAIT_VALUE_GEQ);
    if (status == CUDA_ERROR_NOT_SUPPORTED) return false;
    if (status != CUDA_SUCCESS)
      throw Error({.outcome = Outcome::failed,
                   .library = "CUDA",
                   .code = fmt::format("CUresult {}", static_cast<int>(status)),
                   .text = "cuStreamWaitValue32 refused to hold a stream back",
                   .remedy = "look for GPU errors in the kernel log (dmesg, lines with Xid)"});
    return true;
  }

  void hold_by_function(cudaStream_t stream) {
    auto shared = std::make_unique<std::shared_ptr<HostState>>(host_);
    check(cudaLaunchHostFunc(stream, wait_on_host, shared.get()));
    static_cast<void>(shared.release());  // the function's now
  }

  std::uint32_t* word_ = nullptr;
  std::uint32_t open_value_ = 0;
  std::shared_ptr<HostState> host_ = std::make_shared<HostState>();
};

}  // namespace

std::unique_ptr<Gate> make_gate() { return std::make_unique<CudaGate>(); }

}  // namespace claimcheck::kernels::cuda

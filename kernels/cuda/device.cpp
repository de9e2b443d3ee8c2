#include "kernels/cuda/device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/cuda/arithmetic.h"
#include "kernels/cuda/buffer.h"
#include "kernels/cuda/cufile.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda/launches.h"
#include "kernels/cuda/stream.h"

namespace claimcheck::kernels::cuda {

namespace {

constexpr std::size_t staging_bytes = std::size_t{4} << 20;

// Long enough for any copy at 100 MB/s, and for work that was enqueued before it.
Duration deadline_of_copy(std::size_t bytes) { return Duration(60.0 + static_cast<double>(bytes) / 1e8); }

// The addresses a memory kernel uses; the others stay null.
struct Arrays {
  void* a = nullptr;
  void* b = nullptr;
  void* c = nullptr;
  std::size_t bytes = 0;  // of each
};

Arrays arrays_of(MemoryKernel kernel, const Slice& a, const Slice& b, const Slice& c) {
  const bool uses_a = kernel != MemoryKernel::write;
  const bool uses_b = kernel == MemoryKernel::add || kernel == MemoryKernel::triad;
  Arrays arrays;
  if (uses_a) arrays.a = address_of(a, "array a");
  if (uses_b) arrays.b = address_of(b, "array b");
  arrays.c = address_of(c, "array c");
  arrays.bytes = uses_a ? a.size_bytes : c.size_bytes;
  if (arrays.bytes % 16 != 0)
    throw mistake(fmt::format("arrays of {} bytes were given; expected a multiple of 16", arrays.bytes));
  if (uses_b && b.size_bytes != arrays.bytes)
    throw mistake(fmt::format("arrays a and b differ in size: {} and {} bytes", arrays.bytes, b.size_bytes));
  if (kernel == MemoryKernel::read ? c.size_bytes < sizeof(double) : c.size_bytes != arrays.bytes)
    throw mistake(fmt::format("array c has {} bytes; expected {}", c.size_bytes,
                              kernel == MemoryKernel::read ? "room for one double" : fmt::format("{}", arrays.bytes)));
  return arrays;
}

std::size_t elements_in(DataType type, std::size_t bytes) {
  if (type == DataType::fp4) return 2 * bytes;
  const std::size_t size = storage_bytes(type, 1);
  if (bytes % size != 0)
    throw mistake(fmt::format("{} bytes are no whole number of {} values", bytes, to_string(type)));
  return bytes / size;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(Gpu gpu) : gpu_(std::move(gpu)) {}

  const Gpu& gpu() const { return gpu_; }

  const DeviceFacts& facts() const override { return gpu_.facts; }
  std::unique_ptr<Watch> watch() override { return make_watch(gpu_); }
  Facts sense() override { return gpu_.sensors == nullptr ? Facts{} : gpu_.sensors->sample(); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(gpu_.ordinal); }
  std::unique_ptr<Timer> make_timer() override { return cuda::make_timer(gpu_.ordinal); }
  std::unique_ptr<Buffer> allocate(std::size_t size_bytes, Placement placement) override;
  void fill(Stream& stream, Slice target, DataType type, Pattern pattern, std::uint64_t seed) override;
  void upload(Stream& stream, Slice target, std::span<const std::byte> source) override;
  void download(Stream& stream, std::span<std::byte> target, Slice source) override;
  void memory(Stream& stream, MemoryKernel kernel, Slice a, Slice b, Slice c, double scalar) override;
  void compare(Stream& stream, Slice a, Slice b, Slice count) override;
  std::unique_ptr<Gemm> make_gemm(DataType type, const GemmShape& shape) override {
    return cuda::make_gemm(gpu_, type, shape);
  }
  void copy(Stream& stream, Slice target, Slice source, CopyEngine engine) override;
  void chase(Stream& stream, Slice list, std::int64_t loads, Slice last) override;
  std::unique_ptr<VectorChains> make_vector(VectorOp op) override { return cuda::make_vector(gpu_, op); }
  std::unique_ptr<TensorTiles> make_tensor(DataType type) override { return cuda::make_tensor(gpu_, type); }
  void launch_empty(Stream& stream) override;
  std::unique_ptr<Neural> make_neural() override { return cuda::make_neural(gpu_); }
  void order(Stream& later, Stream& earlier) override { wait_for(cuda(later), cuda(earlier)); }
  std::unique_ptr<DirectFile> open_direct_file(int descriptor, Buffer& memory) override {
    return cuda::open_direct_file(cufile_library(), gpu_.ordinal, descriptor, memory);
  }

 private:
  Launch launch_on(Stream& stream) const { return {cuda(stream).handle(), gpu_.facts.compute_units}; }
  bool reaches(int ordinal);
  void expect_reach(const Slice& slice);
  template <class Copy>
  void stage(std::size_t bytes, Copy copy);

  Gpu gpu_;
  std::mutex reaches_mutex_;
  std::map<int, bool> reaches_;  // of other GPUs; peer access is switched on
  std::mutex staging_mutex_;
  std::unique_ptr<Buffer> staging_;  // what upload and download pass through
};

std::unique_ptr<Buffer> CudaDevice::allocate(std::size_t size_bytes, Placement placement) {
  if (placement == Placement::device) return allocate_on_gpu(size_bytes, gpu_.ordinal);
  const Current current(gpu_.ordinal);
  return allocate_pinned(size_bytes, gpu_.numa_node);
}

void CudaDevice::fill(Stream& stream, Slice target, DataType type, Pattern pattern, std::uint64_t seed) {
  const std::size_t elements = elements_in(type, target.size_bytes);
  void* const address = address_of(target, "the slice to fill");
  const Current current(gpu_.ordinal);
  if (pattern == Pattern::normal) return launch_fill(launch_on(stream), address, elements, type, seed);
  check(cudaMemsetAsync(address, 0, target.size_bytes, cuda(stream).handle()));
}

// Calls copy(pinned memory, offset, bytes) part by part. CUDA's own copies from ordinary memory may block without end
// behind work that hangs; pinned ones return at once and are waited for with a deadline.
template <class Copy>
void CudaDevice::stage(std::size_t bytes, Copy copy) {
  const std::lock_guard lock(staging_mutex_);
  const Current current(gpu_.ordinal);
  if (!staging_) staging_ = allocate_pinned(staging_bytes, gpu_.numa_node);
  try {
    for (std::size_t done = 0; done < bytes; done += staging_bytes)
      copy(static_cast<std::byte*>(staging_->address()), done, std::min(staging_bytes, bytes - done));
  } catch (...) {
    staging_.reset();  // the GPU may use it still; it is then not freed
    throw;
  }
}

void CudaDevice::upload(Stream& stream, Slice target, std::span<const std::byte> source) {
  if (source.size() != target.size_bytes)
    throw mistake(fmt::format("{} bytes cannot be uploaded to a slice of {}", source.size(), target.size_bytes));
  auto* const address = static_cast<std::byte*>(address_of(target, "the slice to upload to", 1));
  stage(source.size(), [&](std::byte* staging, std::size_t offset, std::size_t bytes) {
    std::memcpy(staging, source.data() + offset, bytes);
    check(cudaMemcpyAsync(address + offset, staging, bytes, cudaMemcpyDefault, cuda(stream).handle()));
    stream.wait(deadline_of_copy(bytes));
  });
}

void CudaDevice::download(Stream& stream, std::span<std::byte> target, Slice source) {
  if (target.size() != source.size_bytes)
    throw mistake(fmt::format("a slice of {} bytes cannot be downloaded to {}", source.size_bytes, target.size()));
  const auto* const address = static_cast<const std::byte*>(address_of(source, "the slice to download", 1));
  stage(target.size(), [&](std::byte* staging, std::size_t offset, std::size_t bytes) {
    check(cudaMemcpyAsync(staging, address + offset, bytes, cudaMemcpyDefault, cuda(stream).handle()));
    stream.wait(deadline_of_copy(bytes));
    std::memcpy(target.data() + offset, staging, bytes);
  });
}

void CudaDevice::memory(Stream& stream, MemoryKernel kernel, Slice a, Slice b, Slice c, double scalar) {
  const Arrays arrays = arrays_of(kernel, a, b, c);
  const Current current(gpu_.ordinal);
  if (kernel != MemoryKernel::read)
    return launch_memory(launch_on(stream), kernel, arrays.a, arrays.b, arrays.c, scalar, arrays.bytes);
  launch_sum(launch_on(stream), arrays.a, arrays.bytes, cuda(stream).scratch(sum_scratch_bytes()), arrays.c);
}

void CudaDevice::compare(Stream& stream, Slice a, Slice b, Slice count) {
  if (a.size_bytes != b.size_bytes || a.size_bytes % 16 != 0 || count.size_bytes < sizeof(double))
    throw mistake(
        fmt::format("{} and {} bytes cannot be compared into {}: expected equal multiples of 16 bytes, and "
                    "room for one double",
                    a.size_bytes, b.size_bytes, count.size_bytes));
  const Current current(gpu_.ordinal);
  launch_compare(launch_on(stream), address_of(a, "the first slice to compare"),
                 address_of(b, "the second slice to compare"), a.size_bytes, cuda(stream).scratch(sum_scratch_bytes()),
                 address_of(count, "the count of differences", sizeof(double)));
}

void CudaDevice::copy(Stream& stream, Slice target, Slice source, CopyEngine engine) {
  if (target.size_bytes != source.size_bytes)
    throw mistake(fmt::format("{} bytes cannot be copied to a slice of {}", source.size_bytes, target.size_bytes));
  const std::size_t alignment = engine == CopyEngine::kernel ? vector_bytes : 1;
  void* const to = address_of(target, "the slice to copy to", alignment);
  const void* const from = address_of(source, "the slice to copy from", alignment);
  const Current current(gpu_.ordinal);
  if (engine == CopyEngine::kernel) {
    expect_reach(target);
    expect_reach(source);
    return launch_copy(launch_on(stream), to, from, target.size_bytes);
  }
  const int to_gpu = ordinal_of(target);
  const int from_gpu = ordinal_of(source);
  if (to_gpu < 0 || from_gpu < 0 || to_gpu == from_gpu) {
    check(cudaMemcpyAsync(to, from, target.size_bytes, cudaMemcpyDefault, cuda(stream).handle()));
    return;
  }
  // Direct where peer access could be switched on; else CUDA goes through the host.
  reaches(to_gpu);
  reaches(from_gpu);
  check(cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, target.size_bytes, cuda(stream).handle()));
}

void CudaDevice::chase(Stream& stream, Slice list, std::int64_t loads, Slice last) {
  if (list.size_bytes < sizeof(std::uint64_t) || last.size_bytes < sizeof(std::uint64_t))
    throw mistake("a chase needs a list and room for its last index, 8 bytes each at least");
  if (loads < 0) throw mistake(fmt::format("{} loads were asked for; expected 0 or more", loads));
  const void* const first = address_of(list, "the list to chase");
  void* const result = address_of(last, "the last index of a chase");
  expect_reach(list);
  expect_reach(last);
  const Current current(gpu_.ordinal);
  launch_chase(launch_on(stream), first, loads, result);
}

void CudaDevice::launch_empty(Stream& stream) {
  const Current current(gpu_.ordinal);
  launch_nothing(launch_on(stream));
}

// Whether kernels here can use the memory of that GPU (-1: the host's); switches peer access on at the first call.
bool CudaDevice::reaches(int ordinal) {
  if (ordinal < 0 || ordinal == gpu_.ordinal) return true;
  const std::lock_guard lock(reaches_mutex_);
  const auto known = reaches_.find(ordinal);
  if (known != reaches_.end()) return known->second;
  const Current current(gpu_.ordinal);
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, gpu_.ordinal, ordinal));
  if (possible != 0) {
    const cudaError_t status = cudaDeviceEnablePeerAccess(ordinal, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {  // by a library
      ignore(status);
    } else {
      check(status);
    }
  }
  return reaches_.emplace(ordinal, possible != 0).first->second;
}

void CudaDevice::expect_reach(const Slice& slice) {
  if (reaches(ordinal_of(slice))) return;
  throw unsupported(
      fmt::format("kernels of GPU {} cannot use the memory of GPU {}: there is no peer access between them",
                  gpu_.ordinal, ordinal_of(slice)),
      remedy_of(cudaErrorPeerAccessUnsupported));
}

}  // namespace

std::unique_ptr<Device> make_device(Gpu gpu) { return std::make_unique<CudaDevice>(std::move(gpu)); }

const Gpu& gpu_of(const Device& device) { return static_cast<const CudaDevice&>(device).gpu(); }

}  // namespace claimcheck::kernels::cuda

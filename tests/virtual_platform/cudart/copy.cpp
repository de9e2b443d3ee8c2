// Copies and memset. What a copy does follows from where its addresses point, as with unified addressing.
#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/virtual_platform/cudart/runtime.h"
#include "tests/virtual_platform/engine/identity.h"
#include "tests/virtual_platform/engine/parallel.h"

using namespace virtual_platform;          // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cudart;  // NOLINT(google-build-using-namespace)

namespace {

constexpr double host_copy_gbps = 10;

struct Place {
  int device = host;
  bool pageable = false;  // ordinary memory of the host
  bool fits = true;       // the range ends inside its allocation
};

Place place_of(const void* start, std::size_t bytes) {
  const std::lock_guard lock(engine_mutex());
  const auto address = reinterpret_cast<Address>(start);
  if (accessible(address) == address) return {host, true, true};
  const Allocation* allocation = find_allocation(address);
  if (allocation == nullptr) return {host, false, false};
  return {allocation->device, false, range(start, bytes).within(allocation->whole())};
}

void move_bytes(void* target, const void* source, std::size_t bytes) {
  auto* const to = accessible(static_cast<std::byte*>(target));
  const auto* const from = accessible(static_cast<const std::byte*>(source));
  if (range(to, bytes).overlaps(range(from, bytes))) {
    std::memmove(to, from, bytes);
    return;
  }
  parallel_pieces(bytes, std::size_t{1} << 20,
                  [=](std::size_t first, std::size_t count) { std::memcpy(to + first, from + first, count); });
}

std::vector<Claim> engines_for(const Place& target, const Place& source) {
  if (target.device == host && source.device == host) return {};
  if (target.device == source.device) return {{target.device, Engine::compute}};
  if (target.device != host && source.device != host)
    return {{source.device, Engine::link_out}, {target.device, Engine::link_in}};
  const int index = std::max(target.device, source.device);
  // One copy engine serves both directions.
  if (device(index).gpu->copy_engines == 1) return {{index, Engine::h2d}, {index, Engine::d2h}};
  return {{index, target.device == index ? Engine::h2d : Engine::d2h}};
}

double copy_seconds(const Place& target, const Place& source, double bytes, double start) {
  if (target.device == host && source.device == host) return bytes / (host_copy_gbps * 1e9);
  if (target.device == source.device) return kernel_seconds(target.device, {.memory_bytes = 2 * bytes}, start);
  double gbps = flow_gbps({source.device, target.device}, start);
  if (target.pageable || source.pageable) gbps = std::min(gbps, spec().pcie.pageable_gbps);
  // The rate is what copies attain; a small one takes its latency.
  return std::max(spec().pcie.latency_us * 1e-6, bytes / (gbps * 1e9));
}

Work copy_work(Stream& stream, void* target, const void* source, std::size_t bytes, const Place& to,
               const Place& from) {
  Work work{.kind = "copy", .name = "cudaMemcpyAsync"};
  work.engines = engines_for(to, from);
  if (to.device != from.device) work.flows = {{from.device, to.device}};
  auto footprint = std::make_shared<Footprint>();
  footprint->writes = {range(target, bytes)};
  Identity identity("copy");
  identity.add(target).add(bytes).add(&stream);
  if (from.pageable) {
    // The runtime takes ordinary memory with it before it returns.
    const auto* const first = static_cast<const std::byte*>(source);
    auto staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
    work.effect = [=] { move_bytes(target, staged->data(), bytes); };
  } else {
    identity.add(source);
    footprint->reads = {range(source, bytes)};
    work.effect = [=] { move_bytes(target, source, bytes); };
  }
  work.identity = identity.value();
  work.covers = true;
  work.footprint = std::move(footprint);
  work.seconds = [=](double start) { return copy_seconds(to, from, static_cast<double>(bytes), start); };
  return work;
}

cudaError_t copy(void* target, const void* source, std::size_t bytes, cudaStream_t handle) {
  Stream* stream = as_stream(handle);
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  const Place to = place_of(target, bytes);
  const Place from = place_of(source, bytes);
  if (!to.fits || !from.fits) return failed(cudaErrorInvalidValue);
  if (bytes == 0) return cudaSuccess;
  OperationPointer operation;
  const int error = enqueue(*stream, copy_work(*stream, target, source, bytes, to, from), &operation);
  if (error != 0 || !to.pageable) return result(error);
  return result(synchronise(operation));
}

cudaError_t set(void* target, int value, std::size_t bytes, cudaStream_t handle) {
  Stream* stream = as_stream(handle);
  if (stream == nullptr) return failed(cudaErrorInvalidResourceHandle);
  const Place to = place_of(target, bytes);
  if (!to.fits || to.pageable) return failed(cudaErrorInvalidValue);
  if (bytes == 0) return cudaSuccess;
  Work work{.kind = "copy", .name = "cudaMemsetAsync"};
  const int index = device_of(*stream);
  work.engines = {{index, Engine::compute}};
  work.footprint = std::make_shared<Footprint>(Footprint{{}, {range(target, bytes)}});
  work.covers = true;
  work.identity = Identity("set").add(target).add(bytes).add(stream).value();
  work.effect = [=] { std::memset(accessible(target), value, bytes); };
  work.seconds = [=](double start) {
    return kernel_seconds(index, {.memory_bytes = static_cast<double>(bytes)}, start);
  };
  return result(enqueue(*stream, std::move(work)));
}

}  // namespace

CLAIMCHECK_EXPORT cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes,
                                              cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  if (const cudaError_t status = enter_here("cudaMemcpyAsync", cudaErrorLaunchFailure)) return status;
  return copy(target, source, bytes, stream);
}

CLAIMCHECK_EXPORT cudaError_t cudaMemcpyPeerAsync(void* target, int to, const void* source, int from, std::size_t bytes,
                                                  cudaStream_t stream) {
  if (const cudaError_t status = enter_here("cudaMemcpyPeerAsync", cudaErrorLaunchFailure)) return status;
  if (!is_device(to) || !is_device(from)) return failed(cudaErrorInvalidDevice);
  if (place_of(target, bytes).device != to || place_of(source, bytes).device != from)
    return failed(cudaErrorInvalidValue);
  return copy(target, source, bytes, stream);
}

CLAIMCHECK_EXPORT cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t status = enter_here("cudaMemsetAsync", cudaErrorLaunchFailure)) return status;
  return set(target, value, bytes, stream);
}

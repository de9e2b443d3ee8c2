// Pinned host memory next to a GPU: the driver takes pages where the calling thread may take them, so the thread is
// bound to the GPU's NUMA node meanwhile. Containers often forbid binding memory; then binding the CPU alone does it.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "kernels/cuda/buffer.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/error.h"

namespace claimcheck::kernels::cuda {

namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

// Null when the machine's topology cannot be read: memory then comes from anywhere.
hwloc_topology_t topology() {
  static const Topology loaded = [] {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return Topology();
    Topology owned(made);
    if (hwloc_topology_load(made) != 0) return Topology();
    return owned;
  }();
  return loaded.get();
}

// Binds the calling thread and its new memory to a NUMA node, and to what they were bound to before at the end. Where
// binding is refused nothing changes: the memory may then be farther away, which the measured rate shows.
class NextToNode {
 public:
  explicit NextToNode(int numa_node) {
    if (numa_node < 0 || topology() == nullptr || hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_NUMANODE) < 2) return;
    const hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology(), static_cast<unsigned>(numa_node));
    if (node == nullptr) return;
    if (hwloc_get_cpubind(topology(), cpus_before_.get(), HWLOC_CPUBIND_THREAD) == 0)
      cpus_bound_ = hwloc_set_cpubind(topology(), node->cpuset, HWLOC_CPUBIND_THREAD) == 0;
    if (hwloc_get_membind(topology(), nodes_before_.get(), &policy_before_, by_node) == 0)
      memory_bound_ = hwloc_set_membind(topology(), node->nodeset, HWLOC_MEMBIND_BIND, by_node) == 0;
  }
  ~NextToNode() {
    if (cpus_bound_) hwloc_set_cpubind(topology(), cpus_before_.get(), HWLOC_CPUBIND_THREAD);
    if (memory_bound_) hwloc_set_membind(topology(), nodes_before_.get(), policy_before_, by_node);
  }
  NextToNode(const NextToNode&) = delete;
  NextToNode& operator=(const NextToNode&) = delete;

 private:
  // Not strict: a full node gives way to another one.
  static constexpr int by_node = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;

  Bitmap cpus_before_{hwloc_bitmap_alloc()};
  Bitmap nodes_before_{hwloc_bitmap_alloc()};
  hwloc_membind_policy_t policy_before_ = HWLOC_MEMBIND_DEFAULT;
  bool cpus_bound_ = false;
  bool memory_bound_ = false;
};

}  // namespace

std::unique_ptr<Buffer> allocate_pinned(std::size_t size_bytes, int numa_node) {
  void* address = nullptr;
  cudaError_t status = cudaSuccess;
  {
    const NextToNode bound(numa_node);
    status = cudaHostAlloc(&address, std::max<std::size_t>(size_bytes, 1), cudaHostAllocPortable | cudaHostAllocMapped);
  }
  if (status == cudaErrorMemoryAllocation) {
    ignore(status);
    throw Error({.outcome = Outcome::failed,
                 .library = "CUDA",
                 .code = cudaGetErrorName(status),
                 .text = fmt::format("{} bytes of pinned host memory were asked for, and not got", size_bytes),
                 .remedy =
                     "end other programs of this machine, raise the memory limit of the container or the limit of "
                     "locked memory (ulimit -l), or ask for smaller sizes"});
  }
  check(status);
  return std::make_unique<CudaBuffer>(address, size_bytes, Placement::pinned_host, -1);
}

}  // namespace claimcheck::kernels::cuda

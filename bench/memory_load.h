// One of the STREAM kernels on one device, on arrays far beyond its caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "bench/load.h"
#include "bench/reference.h"

namespace claimcheck::bench {

// What `read` must give for each set of arrays, by its number and array size: the same on every device.
using ReferenceSums = std::map<std::pair<std::size_t, std::size_t>, ReferenceSum>;

struct MemoryOptions {
  kernels::MemoryKernel kernel = kernels::MemoryKernel::triad;
  std::size_t wanted_bytes = 0;  // moved by one pass; more where the caches want it
  std::size_t limit_bytes = 0;   // of all arrays together
  std::uint64_t seed = 1;
  std::shared_ptr<ReferenceSums> sums = std::make_shared<ReferenceSums>();
};

// So much that starting a kernel (2 us) is below 1 % of a pass at 8 TB/s, and no more than a 32nd of a small memory. A
// CPU's passes are started by its own threads and need no more than its caches want.
std::size_t wanted_bytes(const kernels::Platform& platform, const kernels::Device& device);

// Fills its arrays on `stream`; wait for it before use.
std::unique_ptr<Load> make_memory_load(kernels::Device& device, kernels::Stream& stream, const MemoryOptions& options);

}  // namespace claimcheck::bench

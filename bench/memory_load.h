// One of the STREAM kernels on one device, on arrays far beyond its caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/load.h"

namespace claimcheck::bench {

// `limit_bytes` bounds all arrays together. Fills them on `stream`; wait for it before use.
std::unique_ptr<Load> make_memory_load(kernels::Device& device, kernels::Stream& stream, kernels::MemoryKernel kernel,
                                       std::size_t limit_bytes, std::uint64_t seed);

}  // namespace claimcheck::bench

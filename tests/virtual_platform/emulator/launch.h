// A launch of a kernel as work on a stream: what it reads and writes is found out by running it once, and remembered.
#pragma once

#include <vector_types.h>

#include "tests/virtual_platform/emulator/kernel.h"
#include "tests/virtual_platform/engine/stream.h"

namespace virtual_platform {

// Arguments are addresses of values, copied here.
Work launch_work(int device, const CompiledKernel& kernel, uint3 blocks, uint3 threads, void* const* arguments);

}  // namespace virtual_platform

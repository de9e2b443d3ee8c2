// The product's kernels, compiled for the CPU: the library CLAIMCHECK_VIRTUAL_KERNELS names, LIBRARY.so, and beside it
// LIBRARY_unchecked.so, the same without accounting for accesses, which is several times as fast.
#pragma once

#include <string>

#include "tests/virtual_platform/emulator/kernel.h"

namespace virtual_platform {

// Null: the companion has no such kernel.
const CompiledKernel* find_kernel(const std::string& mangled_name);

// The same kernel without accounting, for launches of which all is known; itself where there is none.
const CompiledKernel* unchecked(const CompiledKernel* kernel);

}  // namespace virtual_platform

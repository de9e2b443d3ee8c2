// The product's kernels, compiled for the CPU: the library CLAIMCHECK_VIRTUAL_KERNELS names.
#pragma once

#include <string>

#include "tests/virtual_platform/emulator/kernel.h"

namespace virtual_platform {

// Null: the companion has no such kernel.
const CompiledKernel* find_kernel(const std::string& mangled_name);

}  // namespace virtual_platform

// Kernels whose time is not that of their memory traffic, by name.
#pragma once

#include <vector_types.h>

#include <span>
#include <string>

#include "tests/virtual_platform/emulator/kernel.h"
#include "tests/virtual_platform/engine/stream.h"

namespace virtual_platform {

struct KernelLaunch {
  const CompiledKernel* kernel = nullptr;
  uint3 blocks = {};
  uint3 threads = {};
  int device = 0;
  std::span<void* const> arguments;  // addresses of values; pointers are private addresses

  double thread_count() const { return 1.0 * blocks.x * blocks.y * blocks.z * threads.x * threads.y * threads.z; }
};

struct CostRule {
  // Of an integer that decides how long the kernel works, or what values it writes, and not which memory it touches;
  // -1: there is none.
  int free_argument = -1;
  // Adds to what follows from memory traffic; may be null.
  void (*add)(KernelCost& cost, const KernelLaunch& launch, int variant) = nullptr;
  // Which memory it touches depends on what is there: anywhere in its arguments' allocations.
  bool by_data = false;
  // Warps compute much and know nothing of each other: of a result that is looked at in places, only the warps that
  // wrote there are run.
  bool by_warp = false;
  int variant = 0;  // the value of the kernel's template argument
};

// An empty rule for kernels the table does not name.
CostRule cost_rule(const std::string& mangled_name);

}  // namespace virtual_platform

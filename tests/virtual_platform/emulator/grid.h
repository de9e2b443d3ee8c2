// Runs a whole grid and says what it did to memory.
#pragma once

#include <vector_types.h>

#include <string>
#include <vector>

#include "tests/virtual_platform/emulator/accounting.h"
#include "tests/virtual_platform/emulator/kernel.h"
#include "tests/virtual_platform/engine/address_space.h"

namespace virtual_platform {

struct Grid {
  const CompiledKernel* kernel = nullptr;
  uint3 blocks = {};
  uint3 threads = {};  // of a block
  int device = 0;
};

// What a grid did to one allocation; offsets from its beginning.
struct Traffic {
  std::size_t slot = 0;
  std::size_t read_bytes = 0;
  std::size_t written_bytes = 0;
  Range read;  // extent
  Range written;
  bool reads_own = false;  // whatever it read there it had written before
};

struct GridReport {
  std::string error;  // empty: all went well
  std::vector<Traffic> traffic;
};

// Arguments are addresses of values, in which pointers are private addresses. Blocks run on several cores.
GridReport run_grid(const Grid& grid, void* const* arguments);

}  // namespace virtual_platform

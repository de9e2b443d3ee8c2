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
  // Warps know nothing of each other: each is a unit by itself, else each block is.
  bool by_warp = false;

  std::size_t units_of_block() const { return by_warp ? (threads.x * threads.y * threads.z + 31) / 32 : 1; }
  std::size_t units() const { return units_of_block() * blocks.x * blocks.y * blocks.z; }
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

// Where one unit wrote.
struct UnitWrite {
  std::size_t unit = 0;
  std::size_t slot = 0;
  Range written;  // offsets
};

struct GridReport {
  std::string error;  // empty: all went well
  std::vector<Traffic> traffic;
  std::vector<UnitWrite> unit_writes;  // by_warp only
};

// Arguments are addresses of values, in which pointers are private addresses. Runs these units, on several cores.
GridReport run_units(const Grid& grid, void* const* arguments, const std::vector<std::size_t>& units);
GridReport run_grid(const Grid& grid, void* const* arguments);

}  // namespace virtual_platform

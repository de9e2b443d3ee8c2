// How the platform's memory lies in the process: a range the program sees and, at a fixed distance, the private one.
// Both are cut into granules, each owned by one allocation, so that finding an access's allocation is one look-up.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/virtual_platform/engine/memory.h"

namespace virtual_platform {

constexpr std::size_t granule_bits = 21;
constexpr std::size_t most_allocations = 8192;  // alive at once; slot 0 is nobody's

struct AddressSpace {
  Address visible_begin = 0;
  Address private_begin = 0;
  std::size_t bytes = 0;                // of either
  std::size_t device_bytes = 0;         // the first part: GPU memory; pinned memory follows
  std::vector<std::uint16_t> owners;    // slot of each granule
  std::vector<Allocation> allocations;  // by slot
  std::size_t slots_used = 1;           // no slot from here on was ever used
};

const AddressSpace& address_space();

}  // namespace virtual_platform

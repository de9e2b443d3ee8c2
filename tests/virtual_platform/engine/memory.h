// Memory of the virtual GPUs, and pinned host memory. Every byte has two addresses: the one the program holds, which
// for GPU memory has no access rights (a read by the host faults), and a private one by which effects reach it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace virtual_platform {

using Address = std::uintptr_t;  // as the program sees it, unless said otherwise

struct Range {
  Address begin = 0;
  Address end = 0;

  bool empty() const { return begin >= end; }
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  bool within(const Range& other) const { return begin >= other.begin && end <= other.end; }
};

inline Range range(const void* start, std::size_t bytes) {
  const auto begin = reinterpret_cast<Address>(start);
  return {begin, begin + bytes};
}

constexpr int host = -1;  // as a device number: pinned memory

struct Allocation {
  Address begin = 0;
  std::size_t bytes = 0;
  int device = host;
  std::uint32_t number = 0;  // never used twice

  Range whole() const { return {begin, begin + bytes}; }
};

// Null when there is not enough memory. New GPU memory is filled with 0xff (NaNs, -1).
void* allocate(int device, std::size_t bytes);
bool release(void* start);  // false: no allocation starts there. Later use is an illegal address.
// Null: not memory of the platform, or freed.
const Allocation* find_allocation(Address address);
std::size_t allocated_bytes(int device);

// The private address of a program's address; addresses of other memory are returned as they are.
Address accessible(Address address);
template <class T>
T* accessible(T* pointer) {
  return reinterpret_cast<T*>(accessible(reinterpret_cast<Address>(pointer)));
}

// Of private addresses, for the access checks of the emulator. 0: not memory of the platform.
Address visible(Address private_address);

}  // namespace virtual_platform

// The memory kernels of one thread, one set per instruction set, and the choice of the best set this CPU runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace claimcheck::kernels::host {

// Arrays are aligned to 16 bytes, counts are in doubles. `bypass` writes past the caches (non-temporal stores): no
// write-allocate traffic, but slow when the target is read again soon.
struct MemoryLoops {
  const char* isa;  // "avx512f"
  double (*read)(const double* a, std::size_t count);
  void (*write)(double s, double* c, std::size_t count, bool bypass);
  void (*copy)(const double* a, double* c, std::size_t count, bool bypass);
  void (*scale)(const double* a, double s, double* c, std::size_t count, bool bypass);
  void (*add)(const double* a, const double* b, double* c, std::size_t count, bool bypass);
  void (*triad)(const double* a, const double* b, double s, double* c, std::size_t count, bool bypass);
  // Values first_pair * 2, ... of the sequence of kernels/normal.h; `count` is even.
  void (*normals)(std::uint64_t key, std::uint64_t first_pair, double* values, std::size_t count);
};

// Best first.
const std::vector<const MemoryLoops*>& usable_memory_loops();

// Any bytes that do not overlap; `bypass` as above.
void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes, bool bypass);

inline const MemoryLoops& memory_loops() { return *usable_memory_loops().front(); }

}  // namespace claimcheck::kernels::host

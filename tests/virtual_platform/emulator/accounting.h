// Accounts for every load and store of a kernel: bytes and extent by allocation, and whether it is allowed at all.
// Companions are compiled with -fsanitize=thread, whose hooks (hooks.cpp, part of the companion) call touch().
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/virtual_platform/engine/memory.h"

namespace virtual_platform {

// One allocation, by offset in the address space; closed (begin > end) when the kernel must not touch it.
struct Window {
  std::size_t begin = 1;
  std::size_t end = 0;
  std::size_t read_bytes = 0;
  std::size_t written_bytes = 0;
  std::size_t first_read = SIZE_MAX;
  std::size_t end_read = 0;
  std::size_t first_written = SIZE_MAX;
  std::size_t end_written = 0;
  bool written_after_read = false;
};

// Of the operating system's thread that runs blocks.
struct Accounting {
  Address private_begin = 0;
  Address visible_begin = 0;
  std::size_t bytes = 0;  // 0: nothing is accounted for
  const std::uint16_t* owners = nullptr;
  Window* windows = nullptr;  // by slot
};

extern __thread Accounting accounting __attribute__((tls_model("initial-exec")));

// Ends the grid with an error.
[[noreturn]] void refuse_access(const void* address, std::size_t bytes, bool write);

constexpr unsigned accounting_granule_bits = 21;

inline void touch(const void* address, std::size_t bytes, bool write) {
  const auto place = reinterpret_cast<Address>(address);
  const std::size_t offset = place - accounting.private_begin;
  if (offset >= accounting.bytes) [[unlikely]] {
    constexpr Address first_page = 65536;
    constexpr Address end_of_programs = Address{1} << 47;
    // Stacks, shared memory and constants are no business of ours; null, nonsense and what came by memory are.
    if (place < first_page || place >= end_of_programs || place - accounting.visible_begin < accounting.bytes)
      refuse_access(address, bytes, write);
    return;
  }
  Window& window = accounting.windows[accounting.owners[offset >> accounting_granule_bits]];
  if (offset < window.begin || offset + bytes > window.end) [[unlikely]]
    refuse_access(address, bytes, write);
  if (write) {
    window.written_bytes += bytes;
    window.written_after_read |= window.read_bytes != 0;
    if (offset < window.first_written) window.first_written = offset;
    if (offset + bytes > window.end_written) window.end_written = offset + bytes;
  } else {
    window.read_bytes += bytes;
    if (offset < window.first_read) window.first_read = offset;
    if (offset + bytes > window.end_read) window.end_read = offset + bytes;
  }
}

}  // namespace virtual_platform

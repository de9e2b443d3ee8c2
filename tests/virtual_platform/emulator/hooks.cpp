// Part of every companion: what code compiled with -fsanitize=thread calls at loads and stores. Hidden, so that these
// and the real ThreadSanitizer's never meet.
#include "tests/virtual_platform/emulator/accounting.h"

using virtual_platform::touch;

#pragma GCC visibility push(hidden)
extern "C" {

#define CLAIMCHECK_HOOKS(bytes)                                                      \
  void __tsan_read##bytes(void* address) { touch(address, bytes, false); }           \
  void __tsan_write##bytes(void* address) { touch(address, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* address) { touch(address, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* address) { touch(address, bytes, true); } \
  void __tsan_volatile_read##bytes(void* address) { touch(address, bytes, false); }  \
  void __tsan_volatile_write##bytes(void* address) { touch(address, bytes, true); }

CLAIMCHECK_HOOKS(1)
CLAIMCHECK_HOOKS(2)
CLAIMCHECK_HOOKS(4)
CLAIMCHECK_HOOKS(8)
CLAIMCHECK_HOOKS(16)

void __tsan_read_range(void* address, unsigned long bytes) { touch(address, bytes, false); }
void __tsan_write_range(void* address, unsigned long bytes) { touch(address, bytes, true); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void*) {}
void __tsan_vptr_update(void*, void*) {}
}
#pragma GCC visibility pop

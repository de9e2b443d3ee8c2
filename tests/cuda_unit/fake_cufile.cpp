// A libcufile.so.0 on ordinary memory, moving at most 1 MiB a call. FAKE_CUFILE chooses what goes wrong: "driver",
// "file", "memory", "write", "read"; it wants the compatibility mode switched off.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kernels/cuda/cufile_abi.h"

using claimcheck::kernels::cuda::cufile::Description;
using claimcheck::kernels::cuda::cufile::Handle;
using claimcheck::kernels::cuda::cufile::Status;

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;

bool fails(const char* what) {
  const char* const chosen = std::getenv("FAKE_CUFILE");
  return chosen != nullptr && std::strcmp(chosen, what) == 0;
}

int descriptor_of(Handle handle) { return static_cast<int>(reinterpret_cast<std::intptr_t>(handle)) - 1; }

}  // namespace

extern "C" {
Status cuFileDriverOpen() {
  const char* const compatible = std::getenv("CUFILE_ALLOW_COMPAT_MODE");
  if (compatible == nullptr || std::strcmp(compatible, "false") != 0) return {5026, 0};
  return {fails("driver") ? 5001 : 0, 0};
}
Status cuFileGetVersion(int* version) {
  *version = 1150;
  return {0, 0};
}
Status cuFileHandleRegister(Handle* handle, Description* description) {
  if (fails("file")) return {5008, 0};
  if (fails("cuda")) return {5011, 101};
  *handle = reinterpret_cast<Handle>(static_cast<std::intptr_t>(description->handle.descriptor) + 1);
  return {0, 0};
}
void cuFileHandleDeregister(Handle) {}
Status cuFileBufRegister(const void*, std::size_t, int) { return {fails("memory") ? 5036 : 0, 0}; }
Status cuFileBufDeregister(const void*) { return {0, 0}; }
ssize_t cuFileRead(Handle handle, void* base, std::size_t size, off_t file_offset, off_t memory_offset) {
  if (fails("read")) return -5044;
  return pread(descriptor_of(handle), static_cast<std::byte*>(base) + memory_offset, std::min(size, most_bytes),
               file_offset);
}
ssize_t cuFileWrite(Handle handle, const void* base, std::size_t size, off_t file_offset, off_t memory_offset) {
  if (fails("write")) {
    errno = ENOSPC;
    return -1;
  }
  return pwrite(descriptor_of(handle), static_cast<const std::byte*>(base) + memory_offset, std::min(size, most_bytes),
                file_offset);
}
}

// What this program uses of the interface of libcufile.so.0 (GPUDirect Storage). Toolkits often come without cufile.h,
// and the interface is stable by name, so it is declared here, after NVIDIA's public "cuFile API Reference Guide".
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace claimcheck::kernels::cuda::cufile {

// Codes of the library begin above 5000; a code below is an errno.
constexpr int success = 0;
constexpr int first_code = 5000;
constexpr int cuda_driver_error = 5011;  // cuda_code says which

struct Status {
  int code;
  int cuda_code;
};
static_assert(sizeof(Status) == 8);

constexpr int handle_of_descriptor = 1;

struct Description {
  int type;
  union {
    int descriptor;
    void* other;
  } handle;
  const void* file_system_operations;  // null: found out by the library
};
static_assert(sizeof(Description) == 24 && offsetof(Description, handle) == 8);

using Handle = void*;

using DriverOpen = Status (*)();
using HandleRegister = Status (*)(Handle*, Description*);
using HandleDeregister = void (*)(Handle);
using BufferRegister = Status (*)(const void* base, std::size_t size, int flags);
using BufferDeregister = Status (*)(const void* base);
// Return the bytes moved; -1 with errno, or a negative code of the library.
using Read = ssize_t (*)(Handle, void* base, std::size_t size, off_t file_offset, off_t memory_offset);
using Write = ssize_t (*)(Handle, const void* base, std::size_t size, off_t file_offset, off_t memory_offset);
using GetVersion = Status (*)(int* version);  // 1000 x major + 10 x minor

}  // namespace claimcheck::kernels::cuda::cufile

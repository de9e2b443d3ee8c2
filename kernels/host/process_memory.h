// Reading the memory of another process of this machine (process_vm_readv), which Linux may refuse.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace claimcheck::kernels::host {

// Lets the other processes of this user read this one's memory where Linux asks (Yama).
void allow_reading();

// False where Linux does not let this process; throws when the memory is not there any more.
bool can_read(pid_t process, const void* address);
void read_memory_of(pid_t process, std::byte* target, const std::byte* source, std::size_t bytes);

}  // namespace claimcheck::kernels::host

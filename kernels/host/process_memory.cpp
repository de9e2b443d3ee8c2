#include "kernels/host/process_memory.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "kernels/error.h"

namespace claimcheck::kernels::host {

namespace {

ssize_t read_some(pid_t process, std::byte* target, const std::byte* source, std::size_t bytes) {
  const iovec local = {target, bytes};
  const iovec remote = {const_cast<std::byte*>(source), bytes};
  return process_vm_readv(process, &local, 1, &remote, 1, 0);
}

}  // namespace

void allow_reading() { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

bool can_read(pid_t process, const void* address) {
  std::byte one{};
  return read_some(process, &one, static_cast<const std::byte*>(address), 1) == 1;
}

void read_memory_of(pid_t process, std::byte* target, const std::byte* source, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;  // one call moves less than 2 GiB
  while (bytes > 0) {
    const ssize_t got = read_some(process, target, source, bytes < most ? bytes : most);
    if (got <= 0)
      throw Error({.outcome = Outcome::failed,
                   .library = "Linux",
                   .code = got < 0 ? strerrorname_np(errno) : "",
                   .text = fmt::format("the memory of process {} cannot be read", process),
                   .remedy = "see whether that process has ended"});
    target += got;
    source += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

}  // namespace claimcheck::kernels::host

#include "kernels/host/shared_segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>

namespace claimcheck::kernels::host {

namespace {

Error refused(const char* what, int code) {
  return Error({.outcome = Outcome::failed,
                .library = "Linux",
                .code = strerrorname_np(code),
                .text = fmt::format("shared memory between the processes of this node {}", what),
                .remedy = "see whether /dev/shm is there and may be written to"});
}

Error too_small(std::size_t size_bytes) {
  struct statvfs space {};
  const bool known = statvfs("/dev/shm", &space) == 0;
  const double mib = 1 << 20;
  return Error(
      {.outcome = Outcome::failed,
       .library = "Linux",
       .code = "ENOSPC",
       .text = fmt::format("/dev/shm is too small: the processes of this node want {:.0f} MiB of it and {} are free",
                           static_cast<double>(size_bytes) / mib,
                           known ? fmt::format("{:.0f} MiB", static_cast<double>(space.f_bavail * space.f_frsize) / mib)
                                 : "an unknown number"),
       .remedy = "make it larger: docker run --shm-size=1g, in Kubernetes an emptyDir of medium Memory on "
                 "/dev/shm, else mount -o remount,size=1g /dev/shm"});
}

std::string new_name() {
  static std::atomic<unsigned> made{0};
  return fmt::format("/claimcheck-{}-{}-{:08x}", getpid(), made++, std::random_device()());
}

}  // namespace

SharedSegment::SharedSegment(World& world, std::size_t size_bytes) : size_bytes_(size_bytes) {
  int code = 0;
  if (world.local_process() == 0) {
    name_ = new_name();
    file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size_bytes)) != 0) code = errno;
  }
  const std::vector<std::string> names = world.gather(name_);
  if (world.local_process() != 0) {
    int first = 0;
    while (world.node_of(first) != world.node()) ++first;
    file_ = shm_open(names[static_cast<std::size_t>(first)].c_str(), O_RDWR, 0);
    if (file_ < 0) code = errno;
  }
  if (code == 0) {
    void* const address = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (address == MAP_FAILED) {
      code = errno;
    } else {
      address_ = static_cast<std::byte*>(address);
    }
  }
  if (code == 0) return;
  forget_name();
  if (file_ >= 0) close(file_);
  throw refused("cannot be had", code);
}

SharedSegment::~SharedSegment() {
  forget_name();
  munmap(address_, size_bytes_);
  close(file_);
}

void SharedSegment::reserve(std::size_t first, std::size_t bytes) {
  if (bytes == 0) return;
  const int code = posix_fallocate(file_, static_cast<off_t>(first), static_cast<off_t>(bytes));
  if (code == ENOSPC) throw too_small(size_bytes_);
  if (code != 0) throw refused("cannot be reserved", code);
}

void SharedSegment::forget_name() {
  if (!name_.empty()) shm_unlink(name_.c_str());
  name_.clear();
}

}  // namespace claimcheck::kernels::host

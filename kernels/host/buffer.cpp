#include "kernels/host/buffer.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kernels/host/control_group.h"

namespace claimcheck::kernels::host {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t small_page_bytes = std::size_t{4} << 10;

Error out_of_memory(std::size_t wanted_bytes, std::size_t free_bytes, const char* code) {
  return Error(
      {.outcome = Outcome::failed,
       .library = "Linux",
       .code = code,
       .text = fmt::format("{} bytes of memory were asked for and {} bytes are free", wanted_bytes, free_bytes),
       .remedy = "end other programs, raise the memory limit of the container, or ask for smaller sizes"});
}

}  // namespace

Mapping::Mapping(std::size_t size_bytes) {
  // Linux promises more than it has and kills the process later, so ask beforehand what is there.
  const std::size_t free_bytes = read_memory().available_bytes;
  if (size_bytes > free_bytes) throw out_of_memory(size_bytes, free_bytes, "ENOMEM");
  // Small buffers need no huge pages, which would take 2 MiB each.
  const std::size_t alignment = size_bytes >= huge_page_bytes ? huge_page_bytes : small_page_bytes;
  mapped_bytes_ = (size_bytes / alignment + 1) * alignment;
  void* const whole =
      mmap(nullptr, mapped_bytes_ + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) throw out_of_memory(size_bytes, free_bytes, strerrorname_np(errno));
  // Give back what lies before and after the aligned part.
  const auto start = reinterpret_cast<std::uintptr_t>(whole);
  const std::uintptr_t aligned = (start + alignment - 1) / alignment * alignment;
  address_ = static_cast<std::byte*>(whole) + (aligned - start);
  if (aligned != start) munmap(whole, aligned - start);
  const std::size_t behind = alignment - (aligned - start);
  if (behind != 0) munmap(address_ + mapped_bytes_, behind);
  if (alignment == huge_page_bytes) madvise(address_, mapped_bytes_, MADV_HUGEPAGE);
}

Mapping::~Mapping() { munmap(address_, mapped_bytes_); }

Region region_of(const Slice& slice, const char* what) {
  if (slice.buffer == nullptr || slice.offset_bytes > slice.buffer->size_bytes() ||
      slice.size_bytes > slice.buffer->size_bytes() - slice.offset_bytes)
    throw Error({.outcome = Outcome::failed,
                 .library = "claimcheck",
                 .code = {},
                 .text = fmt::format("{} ({} bytes from byte {}) does not lie within its buffer of {} bytes", what,
                                     slice.size_bytes, slice.offset_bytes,
                                     slice.buffer == nullptr ? 0 : slice.buffer->size_bytes()),
                 .remedy = {}});
  return {static_cast<const HostBuffer*>(slice.buffer)->mapping(), static_cast<std::byte*>(slice.address()),
          slice.size_bytes};
}

}  // namespace claimcheck::kernels::host

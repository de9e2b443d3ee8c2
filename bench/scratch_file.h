// A file without a name, opened past the page cache: gone with the process, however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/device.h"

namespace claimcheck::bench {

class ScratchFile {
 public:
  // Preallocates `bytes`. Throws unsupported as require_direct_access() does, and where there is not the space.
  ScratchFile(const std::string& directory, std::size_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t size_bytes() const { return size_bytes_; }
  std::string path() const;  // for other processes, while this object lives

  void sync() const;                                                    // data and what is needed to find it again
  void read(std::size_t offset, void* target, std::size_t size) const;  // all three multiples of 4096
  void write(std::size_t offset, const void* source, std::size_t size) const;
  void flip_bit(std::size_t offset) const;  // of the byte at `offset`, on the device

 private:
  int descriptor_ = -1;
  std::size_t size_bytes_ = 0;
};

// How many pages of an open file are in the page cache.
std::size_t cached_pages(int descriptor, std::size_t size_bytes);

// A failed system call: `what` starts the sentence, `number` is its errno.
kernels::Error system_error(const std::string& what, int number, std::string remedy = {});

// Throws unsupported where the file system of `directory`, which was chosen by `option`, keeps files in memory.
void refuse_memory_file_system(const std::string& directory, const std::string& option = "--scratch");

// Throws unsupported, with the reason and what to do, where the file system of `directory` keeps files in memory or has
// no O_DIRECT.
void require_direct_access(const std::string& directory);

// `wanted`, or a quarter of what is free in `directory` when that is less; a multiple of `granule`, at least one.
std::size_t affordable_bytes(const std::string& directory, std::size_t wanted, std::size_t granule);

// Bytes this process has had read from devices (/proc/self/io, read_bytes); unset when the kernel does not count them.
std::optional<std::uint64_t> bytes_read_from_devices();

}  // namespace claimcheck::bench

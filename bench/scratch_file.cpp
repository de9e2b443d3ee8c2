#include "bench/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "kernels/device.h"

namespace claimcheck::bench {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr const char* choose_another = "give a directory on a disk with --scratch";

int open_without_name(const std::string& directory) {
  int descriptor = open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    // A file system without nameless files: the name goes at once.
    std::string name = directory + "/claimcheck-scratch-XXXXXX";
    descriptor = mkostemp(name.data(), O_DIRECT | O_CLOEXEC);
    if (descriptor >= 0) unlink(name.c_str());
  }
  if (descriptor >= 0) return descriptor;
  if (errno == EINVAL)
    throw kernels::unsupported(
        fmt::format("the file system of {} has no O_DIRECT, so the page cache cannot be kept out", directory),
        choose_another);
  throw system_error("cannot create a file in " + directory, errno);
}

}  // namespace

kernels::Error system_error(const std::string& what, int number, std::string remedy) {
  return kernels::Error(
      {.outcome = kernels::Outcome::failed,
       .library = "Linux",
       .code = strerrorname_np(number) != nullptr ? strerrorname_np(number) : fmt::format("{}", number),
       .text = fmt::format("{}: {}", what, strerror(number)),
       .remedy = std::move(remedy)});
}

void refuse_memory_file_system(const std::string& directory, const std::string& option) {
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) throw system_error("cannot look at the directory " + directory, errno);
  if (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC)
    throw kernels::unsupported(fmt::format("{} is in memory, not on a disk", directory),
                               "give a directory on a disk with " + option);
}

void require_direct_access(const std::string& directory) {
  refuse_memory_file_system(directory);
  close(open_without_name(directory));
}

ScratchFile::ScratchFile(const std::string& directory, std::size_t bytes) : size_bytes_(bytes) {
  refuse_memory_file_system(directory);
  descriptor_ = open_without_name(directory);
  int failure = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  // Not every file system can; the C library's way round it does not go with O_DIRECT.
  if (failure == EINVAL || failure == EOPNOTSUPP)
    failure = ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (failure == 0) return;
  close(descriptor_);
  if (failure == ENOSPC)
    throw kernels::unsupported(fmt::format("{} has no space for a file of {} MiB", directory, bytes >> 20),
                               "free some, choose --file-bytes smaller, or another directory with --scratch");
  throw system_error("cannot make a file in " + directory, failure);
}

ScratchFile::~ScratchFile() { close(descriptor_); }

std::string ScratchFile::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

void ScratchFile::sync() const {
  if (fsync(descriptor_) != 0) throw system_error("cannot write the file to the disk", errno);
}

void ScratchFile::read(std::size_t offset, void* target, std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        pread(descriptor_, static_cast<std::byte*>(target) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error(fmt::format("cannot read the file at byte {}", offset + done), errno);
    if (got == 0)
      throw kernels::wrong_result(fmt::format("the file ends at byte {}, expected {}", offset + done, size_bytes_));
    done += static_cast<std::size_t>(got);
  }
}

void ScratchFile::write(std::size_t offset, const void* source, std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    const ssize_t put = pwrite(descriptor_, static_cast<const std::byte*>(source) + done, size - done,
                               static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw system_error(fmt::format("cannot write the file at byte {}", offset + done), errno);
    done += static_cast<std::size_t>(put);
  }
}

void ScratchFile::flip_bit(std::size_t offset) const {
  alignas(page_bytes) std::byte page[page_bytes];
  const std::size_t start = offset / page_bytes * page_bytes;
  read(start, page, page_bytes);
  page[offset - start] ^= std::byte{1};
  write(start, page, page_bytes);
  sync();
}

std::size_t cached_pages(int descriptor, std::size_t size_bytes) {
  // Mapping alone brings no page in; mincore() then sees the page cache.
  void* const address = mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) throw system_error("cannot map the file", errno);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size_bytes + page - 1) / page);
  const int result = mincore(address, size_bytes, pages.data());
  const int number = errno;
  munmap(address, size_bytes);
  if (result != 0) throw system_error("cannot ask which pages of the file are in memory", number);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; }));
}

std::size_t affordable_bytes(const std::string& directory, std::size_t wanted, std::size_t granule) {
  struct statvfs space {};
  if (statvfs(directory.c_str(), &space) != 0) throw system_error("cannot look at the directory " + directory, errno);
  const std::size_t quarter = static_cast<std::size_t>(space.f_bavail) * space.f_frsize / 4;
  return std::max(granule, std::min(wanted, quarter) / granule * granule);
}

std::optional<std::uint64_t> bytes_read_from_devices() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (file >> name >> value)
    if (name == "read_bytes:") return value;
  return std::nullopt;
}

}  // namespace claimcheck::bench

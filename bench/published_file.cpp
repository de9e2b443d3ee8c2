#include "bench/published_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <random>

#include "bench/scratch_file.h"

namespace claimcheck::bench {

namespace {

constexpr const char* prefix = "claimcheck-checkpoint-";
constexpr std::size_t page_bytes = 4096;

// Also among the machines that share the directory.
std::string unique_name() {
  static const unsigned process = std::random_device()();
  static std::atomic<unsigned> made{0};
  return fmt::format("{}{}-{:08x}-{}", prefix, getpid(), process, made++);
}

kernels::Error no_direct_access(const CheckpointPlace& place) {
  return kernels::unsupported(
      fmt::format("the file system of {} has no O_DIRECT, so the page cache cannot be kept out", place.directory),
      "give a directory on a disk with " + place.option);
}

kernels::Error no_space(const CheckpointPlace& place, std::size_t bytes) {
  return kernels::unsupported(
      fmt::format("{} has no space for a file of {} MiB", place.directory, bytes >> 20),
      fmt::format("free some, choose --file-bytes smaller, or another directory with {}", place.option));
}

kernels::Error over_limit(std::size_t bytes, int number) {
  return system_error(fmt::format("a file of {} MiB is larger than this process may make", bytes >> 20), number,
                      "raise the limit of file sizes (ulimit -f) or choose --file-bytes smaller");
}

}  // namespace

PublishedFile::PublishedFile(const CheckpointPlace& place, std::size_t bytes, Naming naming)
    : place_(place), size_bytes_(bytes) {
  const std::string name = place_.directory + '/' + unique_name();
  final_name_ = name;
  if (naming == Naming::late) open_without_name();
  if (descriptor_ < 0) open_with_name();
  try {
    preallocate();
  } catch (...) {
    remove_names();
    close(descriptor_);
    throw;
  }
}

PublishedFile::~PublishedFile() {
  remove_names();
  close(descriptor_);
}

void PublishedFile::open_without_name() {
  descriptor_ = open(place_.directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor_ >= 0) {
    flock(descriptor_, LOCK_EX | LOCK_NB);  // before it has a name: remove_abandoned_files() of others
    return;
  }
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT) return;  // the file system cannot: with a name, then
  if (errno == EINVAL) throw no_direct_access(place_);
  throw system_error("cannot make a file in " + place_.directory, errno, "give another with " + place_.option);
}

void PublishedFile::open_with_name() {
  early_ = true;
  for (;;) {
    working_name_ = final_name_ + ".part";
    descriptor_ = open(working_name_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const int number = errno;
    if (descriptor_ < 0) {
      // Some file systems make the file first and refuse O_DIRECT then.
      if (number == EINVAL) unlink(working_name_.c_str());
      working_name_.clear();
      if (number == EINVAL) throw no_direct_access(place_);
      throw system_error("cannot make a file in " + place_.directory, number, "give another with " + place_.option);
    }
    flock(descriptor_, LOCK_EX | LOCK_NB);
    // Another process may have taken it for abandoned before the lock was there.
    struct stat facts {};
    if (fstat(descriptor_, &facts) != 0 || facts.st_nlink > 0) return;
    close(descriptor_);
  }
}

void PublishedFile::preallocate() {
  if (size_bytes_ == 0) return;
  const auto bytes = static_cast<off_t>(size_bytes_);
  int failure = posix_fallocate(descriptor_, 0, bytes);
  // Not every file system can; the C library's way round it does not go with O_DIRECT.
  if (failure == EINVAL || failure == EOPNOTSUPP) failure = ftruncate(descriptor_, bytes) == 0 ? 0 : errno;
  if (failure == 0) return;
  if (failure == ENOSPC || failure == EDQUOT) throw no_space(place_, size_bytes_);
  if (failure == EFBIG) throw over_limit(size_bytes_, failure);
  throw system_error("cannot make a file in " + place_.directory, failure);
}

void PublishedFile::publish() {
  if (fsync(descriptor_) != 0) throw system_error("cannot bring the file to the disk", errno);
  if (working_name_.empty()) {
    // Linking by way of /proc needs no rights; linkat() does not replace, and rename() does.
    const std::string name = final_name_ + ".part";
    const std::string link = fmt::format("/proc/self/fd/{}", descriptor_);
    if (linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      throw system_error("cannot give the file its name in " + place_.directory, errno);
    working_name_ = name;
  }
  if (rename(working_name_.c_str(), final_name_.c_str()) != 0)
    throw system_error("cannot rename the file in " + place_.directory, errno);
  working_name_ = final_name_;
  const int directory = open(place_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) throw system_error("cannot open the directory " + place_.directory, errno);
  const int result = fsync(directory);
  const int number = errno;
  close(directory);
  // Where directories cannot be synchronised, the file system does it by itself.
  if (result != 0 && number != EINVAL) throw system_error("cannot bring the directory to the disk", number);
}

void PublishedFile::withdraw() { remove_names(); }

void PublishedFile::remove_names() noexcept {
  if (!working_name_.empty()) unlink(working_name_.c_str());
  working_name_.clear();
}

void PublishedFile::flip_bit(std::size_t offset) const {
  alignas(page_bytes) std::byte page[page_bytes];
  const auto start = static_cast<off_t>(offset / page_bytes * page_bytes);
  if (pread(descriptor_, page, page_bytes, start) != static_cast<ssize_t>(page_bytes))
    throw system_error("cannot read the file", errno);
  page[offset % page_bytes] ^= std::byte{1};
  if (pwrite(descriptor_, page, page_bytes, start) != static_cast<ssize_t>(page_bytes))
    throw system_error("cannot write the file", errno);
}

void remove_abandoned_files(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(directory.c_str()), &closedir);
  if (!opened) return;
  while (const dirent* entry = readdir(opened.get())) {
    const std::string name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    const std::string path = directory + '/' + name;
    const int descriptor = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat facts {};
    const bool ours = fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
    if (ours && flock(descriptor, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(descriptor);
  }
}

void require_direct_access(const CheckpointPlace& place) {
  const PublishedFile trial(place, 0, PublishedFile::Naming::late);
}

}  // namespace claimcheck::bench

// Either the whole new file is there or the old one is; a disk that fills up leaves no half document.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "harness/error.h"
#include "harness/result/document.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int close() {
    const int result = number_ >= 0 ? ::close(number_) : 0;
    number_ = -1;
    return result;
  }

 private:
  int number_;
};

std::string shown(const fs::path& path) { return sanitised_text(path.string()); }

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

UserError write_error(const fs::path& file, int code, std::size_t needed_bytes) {
  const fs::path directory = directory_of(file);
  if (code == ENOSPC || code == EDQUOT) {
    struct statvfs space {};
    std::string free;
    if (code == ENOSPC && ::statvfs(directory.c_str(), &space) == 0) {
      free = fmt::format(", {} are free", std::uint64_t{space.f_bavail} * space.f_frsize);
    }
    return UserError(fmt::format(
        "cannot write {}: {} in {} ({} bytes are needed{}); free some, or choose another place", shown(file),
        code == EDQUOT ? "the quota is used up" : "no space is left", shown(directory), needed_bytes, free));
  }
  if (code == ENOENT || code == ENOTDIR) {
    return UserError(
        fmt::format("cannot write {}: {} is not a directory; create it first", shown(file), shown(directory)));
  }
  return UserError(fmt::format("cannot write {}: {}", shown(file), std::strerror(code)));
}

// 0 or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Pipes, terminals and devices cannot be replaced; they are written to.
void write_through(const fs::path& file, std::string_view text) {
  Descriptor target(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (target.number() < 0) throw write_error(file, errno, text.size());
  if (const int code = write_all(target.number(), text)) throw write_error(file, code, text.size());
}

// 0 or errno.
int write_and_sync(const fs::path& file, std::string_view text) {
  Descriptor target(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (target.number() < 0) return errno;
  if (const int code = write_all(target.number(), text)) return code;
  if (::fsync(target.number()) != 0) return errno;
  return target.close() == 0 ? 0 : errno;
}

}  // namespace

void write_atomically(const fs::path& file, std::string_view text) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (fs::is_directory(status)) {
    throw UserError(fmt::format("cannot write {}: it is a directory; expected a file name", shown(file)));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_through(file, text);

  // A link stays a link: what it points to is replaced.
  const fs::path target = fs::exists(status) ? fs::canonical(file) : file;
  const fs::path temporary = directory_of(target) / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  int code = write_and_sync(temporary, text);
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    throw write_error(file, code, text.size());
  }
  // The new name is on disk only when the directory is; file systems that cannot sync a directory keep the file anyway.
  Descriptor directory(::open(directory_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() >= 0) ::fsync(directory.number());
}

}  // namespace claimcheck

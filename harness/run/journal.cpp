#include "harness/run/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/error.h"
#include "harness/result/json_text.h"

namespace claimcheck {

namespace {

UserError cannot_write(const std::filesystem::path& file, int cause) {
  return UserError(fmt::format("{}: cannot write: {}", file.string(), std::strerror(cause)));
}

int open_locked(const std::filesystem::path& file, const std::filesystem::path& shown, int flags = 0) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) throw cannot_write(shown, errno);
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  close(descriptor);
  throw UserError(fmt::format("{}: another claimcheck is writing here; choose another --out", shown.string()));
}

// 0 or errno.
int rename_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;  // those: not on this file system
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Of a directory, so that a new name in it lasts; file systems that cannot do that keep the name anyway.
void sync_directory(const std::filesystem::path& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

Journal::Journal(const std::filesystem::path& file, const nlohmann::json& first_line) : file_(file) {
  const std::filesystem::path temporary = file.parent_path() / ".journal.jsonl.tmp";
  descriptor_ = open_locked(temporary, file, O_NOFOLLOW);
  int code = ftruncate(descriptor_, 0) == 0 ? 0 : errno;
  if (code == 0) {
    try {
      append(first_line);
      code = rename_new(temporary, file);
    } catch (const JournalError&) {
      unlink(temporary.c_str());
      close(descriptor_);
      throw;
    }
  }
  if (code != 0) {
    unlink(temporary.c_str());
    close(descriptor_);
    if (code == EEXIST)
      throw UserError(fmt::format("{}: another claimcheck is writing here; choose another --out", file.string()));
    throw cannot_write(file, code);
  }
  sync_directory(file.parent_path());
}

Journal::Journal(const std::filesystem::path& file) : file_(file) {
  descriptor_ = open_locked(file, file);
  // A line torn by a crash is cut off, so that the next one starts at the beginning of a line.
  const off_t size = lseek(descriptor_, 0, SEEK_END);
  off_t end = size;
  char last = 0;
  while (end > 0 && pread(descriptor_, &last, 1, end - 1) == 1 && last != '\n') --end;
  if ((end != size && ftruncate(descriptor_, end) != 0) || lseek(descriptor_, end, SEEK_SET) < 0) {
    const int cause = errno;
    close(descriptor_);
    throw cannot_write(file, cause);
  }
}

Journal::~Journal() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Journal::append(const nlohmann::json& line) {
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  const off_t start = lseek(descriptor_, 0, SEEK_CUR);
  std::size_t done = 0;
  int cause = 0;
  while (done < text.size() && cause == 0) {
    const ssize_t got = write(descriptor_, text.data() + done, text.size() - done);
    if (got >= 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      cause = errno;
    }
  }
  if (cause == 0 && fdatasync(descriptor_) != 0) cause = errno;
  if (cause == 0) return;
  if (ftruncate(descriptor_, start) == 0) lseek(descriptor_, start, SEEK_SET);
  throw JournalError(fmt::format("{}: cannot write: {}", file_.string(), std::strerror(cause)));
}

std::vector<nlohmann::json> read_journal(const std::filesystem::path& file) {
  struct stat state {};
  if (stat(file.c_str(), &state) != 0) {
    throw UserError(fmt::format("{}: cannot read: {}", file.string(), std::strerror(errno)));
  }
  if (state.st_size == 0) return {};
  const std::string text = read_text(file);
  std::vector<nlohmann::json> lines;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;  // torn: the writer died here
    const std::string name = fmt::format("{}:{}", file.string(), number);
    nlohmann::json line;
    try {
      line = parse_json(rest.substr(0, end), name);
    } catch (const UserError&) {
      line = nullptr;
    }
    if (!line.is_object() || !line.contains("kind") || !line["kind"].is_string()) {
      throw UserError(name + ": not a journal line; expected a JSON object with \"kind\"");
    }
    lines.push_back(std::move(line));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace claimcheck

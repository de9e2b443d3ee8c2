#include "harness/run/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "harness/error.h"

namespace claimcheck {

Journal::Journal(const std::filesystem::path& file) : file_(file) {
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw UserError(fmt::format("{}: cannot write: {}", file.string(), std::strerror(errno)));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor_);
    throw UserError(fmt::format("{}: another claimcheck is writing here; choose another --out", file.string()));
  }
  // A line torn by a crash is cut off, so that the next one starts at the beginning of a line.
  const off_t size = lseek(descriptor_, 0, SEEK_END);
  off_t end = size;
  char last = 0;
  while (end > 0 && pread(descriptor_, &last, 1, end - 1) == 1 && last != '\n') --end;
  if ((end != size && ftruncate(descriptor_, end) != 0) || lseek(descriptor_, end, SEEK_SET) < 0) {
    const std::string cause = std::strerror(errno);
    close(descriptor_);
    throw UserError(fmt::format("{}: cannot write: {}", file.string(), cause));
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
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UserError(fmt::format("{}: cannot read: {}", file.string(), std::strerror(errno)));
  std::vector<nlohmann::json> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    const bool torn = in.eof();  // no newline: the writer died here
    nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (!torn && (line.is_discarded() || !line.is_object() || !line.contains("kind") || !line["kind"].is_string())) {
      throw UserError(
          fmt::format("{}:{}: not a journal line; expected a JSON object with \"kind\"", file.string(), number));
    }
    if (torn) break;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace claimcheck

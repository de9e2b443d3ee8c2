#include "harness/import/line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/error.h"
#include "harness/import/fields.h"
#include "harness/terminal_text.h"

namespace claimcheck::importing {
namespace {

constexpr std::size_t most_name_bytes = 80;
constexpr std::size_t most_names = 4096;
constexpr std::size_t piece_bytes = std::size_t{1} << 18;

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte < 0x7f);
  });
}

// Length of the escape sequence at the beginning of `text` (ECMA-48): CSI ... final byte, OSC ... BEL or ST, two bytes.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {
    std::size_t end = 2;
    while (end < text.size() && (text[end] < 0x40 || text[end] > 0x7e)) ++end;
    return std::min(text.size(), end + 1);
  }
  if (text[1] == ']') {
    const std::size_t bell = text.find('\a', 2);
    const std::size_t terminator = text.find("\x1b\\", 2);
    const std::size_t end = std::min(bell == std::string_view::npos ? text.size() : bell + 1,
                                     terminator == std::string_view::npos ? text.size() : terminator + 2);
    return end;
  }
  return 2;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "[1,3]<stdout>:" and "[1,3]<stderr>:", with or without blanks around.
std::size_t open_mpi_prefix(std::string_view text) {
  if (text.empty() || text.front() != '[') return 0;
  std::size_t end = 1;
  while (end < text.size() && (is_digit(text[end]) || text[end] == ',' || text[end] == '.')) ++end;
  if (end == 1 || end >= text.size() || text[end] != ']') return 0;
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:", "]<stddiag>:"})
    if (text.substr(end).starts_with(stream)) return end + stream.size();
  return 0;
}

// "12: "; what follows must not make it the number of something else ("0: N/A" of a list).
std::size_t label_prefix(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == 0 || end > 5 || end >= text.size() || text[end] != ':') return 0;
  return end + 1 == text.size() || text[end + 1] == ' ' ? end + 1 : 0;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= most_name_bytes && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || std::isalpha(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '/';
  });
}

// "  1048576  262144  float ...": two whole numbers and a word, as the rows of nccl-tests begin. One number alone may
// be the value of what stands before it ("Copy:     120000.0").
bool is_table_row(std::string_view text) {
  const Fields fields(text);
  const auto whole = [](std::string_view word) {
    return std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '_'; });
  };
  return fields.size() > 2 && whole(fields[0]) && whole(fields[1]) &&
         std::isalpha(static_cast<unsigned char>(fields[2].front())) != 0;
}

}  // namespace

std::string_view cleaned(std::string_view raw, std::string& buffer) {
  while (!raw.empty() && (raw.back() == ' ' || raw.back() == '\t')) raw.remove_suffix(1);
  if (is_plain(raw)) return raw;
  std::string kept;
  kept.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] == '\x1b') {
      i += escape_length(raw.substr(i));
    } else {
      kept += raw[i] == '\t' ? ' ' : raw[i];
      ++i;
    }
  }
  buffer = is_plain(kept) ? kept : sanitised_text(kept);
  while (!buffer.empty() && buffer.back() == ' ') buffer.pop_back();
  return buffer;
}

std::size_t LineReader::name_prefix(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos || !is_name(text.substr(0, colon))) return 0;
  const std::string_view rest = text.substr(colon + 2);
  const bool known = names_.find(text.substr(0, colon)) != names_.end();
  if (!known && rest != "#" && !rest.starts_with("# ") && !is_table_row(rest)) return 0;
  if (!known && names_.size() < most_names) names_.emplace(text.substr(0, colon));
  return colon + 1;
}

std::size_t LineReader::prefix_length(std::string_view text) {
  const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
  const std::string_view rest = text.substr(blanks);
  if (const std::size_t length = open_mpi_prefix(rest)) return blanks + length;
  if (const std::size_t length = label_prefix(rest)) return blanks + length;
  if (const std::size_t length = name_prefix(rest)) return blanks + length;
  return 0;
}

LineReader::LineReader(const std::filesystem::path& file) : name_(sanitised_text(file.string())) {
  if (file == "-") {
    name_ = "standard input";
    descriptor_ = STDIN_FILENO;
    return;
  }
  descriptor_ = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat state {};
  if (descriptor_ < 0) throw UserError(fmt::format("{}: {}", name_, std::strerror(errno)));
  if (fstat(descriptor_, &state) == 0 && S_ISDIR(state.st_mode)) {
    close(descriptor_);
    throw UserError(fmt::format("{}: is a directory; expected the output of a tool", name_));
  }
}

LineReader::~LineReader() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

bool LineReader::fill() {
  if (!more_) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + piece_bytes);
  ssize_t got = 0;
  do {
    got = read(descriptor_, buffer_.data() + before, piece_bytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    const int error = errno;
    buffer_.resize(before);
    throw UserError(fmt::format("{}: cannot be read: {}", name_, std::strerror(error)));
  }
  buffer_.resize(before + static_cast<std::size_t>(got));
  total_ += static_cast<std::size_t>(got);
  more_ = got > 0;
  return more_;
}

std::string_view LineReader::head(std::size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  if (buffer_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  return std::string_view(buffer_).substr(at_, bytes);
}

std::size_t LineReader::line_end(std::size_t from) const {
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(std::min(from, buffer_.size()));
  const auto end = std::find_if(begin, buffer_.end(), [](char c) { return c == '\n' || c == '\r'; });
  return end == buffer_.end() ? std::string::npos : static_cast<std::size_t>(end - buffer_.begin());
}

bool LineReader::raw_line(std::string_view& raw) {
  std::size_t end = line_end(at_);
  std::size_t seen = buffer_.size() - at_;
  // One more byte tells a carriage return of CRLF from one of a progress line.
  while (end == std::string::npos || (buffer_[end] == '\r' && end + 1 == buffer_.size() && more_)) {
    if (end == std::string::npos && seen > max_line_bytes) break;
    if (!fill()) break;
    end = line_end(at_ + (end == std::string::npos ? seen : 0));
    seen = buffer_.size() - at_;
  }
  if (end == std::string::npos) end = line_end(at_);
  cut_ = false;
  if (end == std::string::npos && seen > max_line_bytes) {
    // The rest of a line without end is passed over.
    raw = std::string_view(buffer_).substr(at_, max_line_bytes);
    clean_.assign(raw);
    cut_ = true;
    while (true) {
      const std::size_t found = buffer_.find('\n', at_);
      at_ = found == std::string::npos ? buffer_.size() : found;
      if (found != std::string::npos || !fill()) break;
    }
    if (at_ < buffer_.size()) ++at_;
    raw = clean_;
    ended_ = true;
    return true;
  }
  if (end == std::string::npos) {
    if (at_ >= buffer_.size()) return false;
    raw = std::string_view(buffer_).substr(at_);
    at_ = buffer_.size();
    ended_ = false;
    return true;
  }
  raw = std::string_view(buffer_).substr(at_, end - at_);
  const bool pair = buffer_[end] == '\r' && end + 1 < buffer_.size() && buffer_[end + 1] == '\n';
  after_return_ = buffer_[end] == '\r' && !pair;
  at_ = end + (pair ? 2 : 1);
  ended_ = true;
  return true;
}

bool LineReader::next(Line& line) {
  const bool same = after_return_;
  after_return_ = false;
  std::string_view raw;
  line.number = number_;
  if (!raw_line(raw)) return false;
  line.number = same ? number_ - 1 : number_;
  if (!same) ++number_;
  line.cut = cut_;
  std::string_view text = cleaned(raw, clean_);
  const std::size_t prefix = prefix_length(text);
  line.source = text.substr(0, prefix);
  line.text = text.substr(prefix);
  return true;
}

}  // namespace claimcheck::importing

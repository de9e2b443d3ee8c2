// Bounded, tolerant reading of small files; see tree.h.
#include "harness/probe/tree.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace claimcheck::probe {

namespace {

// Length of the UTF-8 sequence at the start of `text`, 0 when there is none. Overlong forms and surrogates are refused
// as in RFC 3629, because the JSON writer refuses them too.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool refused = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return refused ? 0 : length;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const bool control =
        length == 1 && static_cast<unsigned char>(text[0]) < 0x20 && text[0] != '\n' && text[0] != '\t';
    if (length == 0 || control) {
      out += '?';
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> Tree::text(std::string_view path, std::size_t most_bytes) const {
  const std::filesystem::path file = root_ / path;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;  // a pipe would block
  std::ifstream stream(file, std::ios::binary);
  std::string content;
  char block[8192];
  while (content.size() < most_bytes) {
    stream.read(block, static_cast<std::streamsize>(std::min(sizeof block, most_bytes - content.size())));
    const std::streamsize got = stream.gcount();
    if (got <= 0) break;
    content.append(block, static_cast<std::size_t>(got));
  }
  if (content.empty() && !stream.eof()) return std::nullopt;  // sysfs answers some reads with an error
  return printable(content);
}

std::optional<std::string> Tree::line(std::string_view path) const {
  const auto content = text(path, 4096);
  if (!content) return std::nullopt;
  const std::string_view first = trimmed(std::string_view(*content).substr(0, content->find('\n')));
  if (first.empty()) return std::nullopt;
  return std::string(first);
}

std::optional<std::int64_t> Tree::number(std::string_view path) const {
  const auto first = line(path);
  return first ? integer_from(*first) : std::nullopt;
}

bool Tree::exists(std::string_view path) const {
  std::error_code error;
  return std::filesystem::exists(root_ / path, error);
}

std::vector<std::string> Tree::children(std::string_view path, std::size_t most) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator it(root_ / path, error);
  for (; !error && it != std::filesystem::directory_iterator() && names.size() < most; it.increment(error))
    names.push_back(printable(it->path().filename().string()));
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> Tree::link_name(std::string_view path) const {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(root_ / path, error);
  if (error || target.filename().empty()) return std::nullopt;
  return printable(target.filename().string());
}

std::optional<std::uint64_t> Tree::filesystem_bytes(std::string_view path) const {
  struct statvfs facts {};
  if (::statvfs((root_ / path).c_str(), &facts) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(facts.f_blocks) * facts.f_frsize;
}

std::optional<double> Tree::modified(std::string_view path) const {
  struct stat facts {};
  if (::stat((root_ / path).c_str(), &facts) != 0) return std::nullopt;
  return static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) * 1e-9;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::optional<std::int64_t> integer_from(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string_view> value_of(std::string_view text, std::string_view key, char separator) {
  for (const std::string_view line : lines_of(text)) {
    const std::size_t cut = line.find(separator);
    if (cut != std::string_view::npos && trimmed(line.substr(0, cut)) == key) return trimmed(line.substr(cut + 1));
  }
  return std::nullopt;
}

std::optional<std::int64_t> list_count(std::string_view list) {
  list = trimmed(list);
  if (list.empty()) return std::nullopt;
  std::int64_t count = 0;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view range = list.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = integer_from(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : integer_from(range.substr(dash + 1));
    constexpr std::int64_t most = 1 << 20;  // far above any machine, far below overflow
    if (!first || !last || *first < 0 || *last < *first || *last > most) return std::nullopt;
    count += *last - *first + 1;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return count;
}

}  // namespace claimcheck::probe

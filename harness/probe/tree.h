// Small text files below one root directory (/proc, /sys, /etc), read so that nothing odd in them can hurt: sizes are
// bounded, only regular files are opened, bytes that are not UTF-8 become '?'.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck::probe {

class Tree {
 public:
  explicit Tree(std::filesystem::path root) : root_(std::move(root)) {}

  // Paths are relative to the root: "proc/cpuinfo". Unset when absent, unreadable or not a regular file.
  std::optional<std::string> text(std::string_view path, std::size_t most_bytes = 1 << 20) const;
  std::optional<std::string> line(std::string_view path) const;  // the first line without surrounding blanks, not empty
  std::optional<std::int64_t> number(std::string_view path) const;  // of the first line, which holds nothing else
  bool exists(std::string_view path) const;
  std::vector<std::string> children(std::string_view path, std::size_t most = 4096) const;  // names, sorted
  std::optional<std::string> link_name(std::string_view path) const;           // last part of a link's target
  std::optional<std::uint64_t> filesystem_bytes(std::string_view path) const;  // size of the file system it is on
  std::optional<double> modified(std::string_view path) const;                 // seconds since 1970

 private:
  std::filesystem::path root_;
};

// Pure helpers of the parsers.
std::string_view trimmed(std::string_view text);
std::vector<std::string_view> lines_of(std::string_view text);
std::optional<std::int64_t> integer_from(std::string_view text);

// The value after `key` and `separator` on the first line that starts with the key: "MemTotal: 12 kB" -> "12 kB".
std::optional<std::string_view> value_of(std::string_view text, std::string_view key, char separator = ':');

// How many numbers a kernel list names: "0-3,8" -> 5. Unset when it is no such list.
std::optional<std::int64_t> list_count(std::string_view list);

}  // namespace claimcheck::probe

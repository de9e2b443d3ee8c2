// A price file of somebody else, read in pieces so that its size costs no memory. Every error names file and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace claimcheck::catalog_import {

inline constexpr std::uintmax_t max_import_bytes = std::uintmax_t{4} << 30;
inline constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

class Input {
 public:
  // Throws UserError: missing, not a regular file, empty, over 4 GiB. A byte order mark is passed over.
  explicit Input(const std::filesystem::path& file);

  const std::string& name() const { return name_; }  // as given, safe to show
  const std::filesystem::path& path() const { return path_; }

  // What the file begins with, at most 64 KiB; to be asked for before anything is read.
  std::string_view head() const;

  // The next line without its end (LF or CRLF), valid until the next call; false at the end of the file. Throws
  // UserError: a line over 1 MiB, bytes that are not UTF-8.
  bool line(std::string_view& text);
  // Of the last line given, or of the last byte read; from 1.
  std::size_t line_number() const { return line_number_; }
  // Whether the last line or piece given ended with a line break: a file that does not may be cut short.
  bool line_ended() const { return line_ended_; }

  // One byte, or -1 at the end: for parsers that take bytes. Not to be mixed with line().
  int byte() {
    if (at_ == filled_ && !fill()) return -1;
    const auto value = static_cast<unsigned char>(buffer_[at_++]);
    if (value == '\n') ++line_number_;
    return value;
  }
  // Several; 0 at the end.
  std::size_t bytes(char* to, std::size_t most);

  // "NAME:LINE: TEXT".
  [[noreturn]] void fail(std::size_t line, const std::string& text) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool fill();  // more bytes behind those not yet taken; false at the end
  void skip_mark();

  std::filesystem::path path_;
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::size_t line_number_ = 1;
  bool line_ended_ = true;
  bool by_lines_ = false;
};

}  // namespace claimcheck::catalog_import

// Lines of a log, cleaned of what launchers and terminals put into it. Reads in pieces: the size of a file costs no
// memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace claimcheck::importing {

inline constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

struct Line {
  std::size_t number = 0;   // from 1; what stands between two carriage returns of one line shares its number
  std::string_view text;    // without its end, colours, launcher's prefix and trailing blanks; valid UTF-8
  std::string_view source;  // the launcher's prefix: "[1,3]<stdout>", "3"; empty when there is none
  bool cut = false;         // longer than max_line_bytes: the rest is gone
};

// A clean line: ANSI escape sequences and control characters gone, invalid bytes U+FFFD, tabs kept. `buffer` holds the
// text where it differs from what was given.
std::string_view cleaned(std::string_view raw, std::string& buffer);

class LineReader {
 public:
  // "-" is standard input. Throws UserError: missing, a directory, unreadable.
  explicit LineReader(const std::filesystem::path& file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // False at the end. The line is valid until the next call. Throws UserError when reading fails.
  bool next(Line& line);
  // What the file begins with, at most `bytes`; before the first next().
  std::string_view head(std::size_t bytes);
  // Whether the last line ended with a line break.
  bool ended() const { return ended_; }
  std::size_t bytes_read() const { return total_; }

 private:
  bool fill();
  bool raw_line(std::string_view& raw);
  // What a launcher put in front of a line: "[1,3]<stdout>:" (Open MPI), "3: " (srun --label), "node-1: " (pdsh,
  // kubectl) where a line of a table follows, and from then on everywhere. Its length, 0 when there is none.
  std::size_t prefix_length(std::string_view text);
  std::size_t name_prefix(std::string_view text);
  // Position of the next end of a line from `from` on, npos when none is in the buffer.
  std::size_t line_end(std::size_t from) const;

  std::string name_;
  int descriptor_ = -1;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t number_ = 1;
  std::size_t total_ = 0;
  bool more_ = true;
  bool ended_ = true;
  bool cut_ = false;
  bool after_return_ = false;
  std::string clean_;
  std::set<std::string, std::less<>> names_;  // of machines, seen as prefixes
};

}  // namespace claimcheck::importing

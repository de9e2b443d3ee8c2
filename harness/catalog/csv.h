// Comma-separated values as RFC 4180 has them: quoted fields may hold commas, quotes ("") and line breaks.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

struct CsvRow {
  std::size_t line = 0;  // on which the row begins, from 1
  std::vector<std::string> cells;
};

class CsvError : public std::runtime_error {
 public:
  CsvError(std::size_t line, const std::string& text) : std::runtime_error(text), line_(line) {}
  std::size_t line() const noexcept { return line_; }

 private:
  std::size_t line_;
};

// Blank lines are left out; LF and CRLF both end a line. Throws CsvError: an open quote, text after a closing quote.
std::vector<CsvRow> read_csv(std::string_view text);

}  // namespace claimcheck

// The rows of a CSV file of any size, by the names of its header. RFC 4180: quoted cells may hold commas, quotes and
// line breaks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/import/input.h"

namespace claimcheck::catalog_import {

class CsvRows {
 public:
  // Reads the header. Throws UserError: a name twice.
  explicit CsvRows(Input& input);

  // Where a column stands. Throws UserError naming the nearest when it is not there.
  std::size_t column(std::string_view name) const;
  std::optional<std::size_t> find_column(std::string_view name) const;

  // False at the end. Throws UserError: another number of cells than the header, an open quote, text behind a quote, a
  // row over 1 MiB, a last line without an end (the file may be cut short).
  bool next();
  // Of the row, valid until the next; without blanks around.
  std::string_view cell(std::size_t column) const { return cells_[column]; }
  std::size_t line() const { return line_; }  // on which the row begins

 private:
  bool read_cells();
  void split(std::string_view text);
  void split_quoted(std::string_view text);
  // Several lines as one text, while a quote is open.
  std::string_view whole_record(std::string_view first);

  Input& input_;
  std::vector<std::string> header_;
  std::vector<std::string_view> cells_;
  std::string record_;    // of several lines
  std::string unquoted_;  // what quoted cells say
  std::size_t line_ = 0;
};

}  // namespace claimcheck::catalog_import

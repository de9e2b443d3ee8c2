#include "harness/catalog/import/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/nearest.h"
#include "harness/terminal_text.h"

namespace claimcheck::catalog_import {
namespace {

constexpr std::size_t max_columns = 256;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool quote_open(std::string_view text) { return std::count(text.begin(), text.end(), '"') % 2 == 1; }

}  // namespace

CsvRows::CsvRows(Input& input) : input_(input) {
  if (!read_cells()) input.fail(1, "no header; expected the names of the columns");
  for (const std::string_view name : cells_) {
    if (std::find(header_.begin(), header_.end(), name) != header_.end()) {
      input.fail(line_, fmt::format("the column \"{}\" twice", sanitised_text(name)));
    }
    header_.emplace_back(name);
  }
}

std::optional<std::size_t> CsvRows::find_column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header_.begin());
}

std::size_t CsvRows::column(std::string_view name) const {
  if (const auto found = find_column(name)) return *found;
  const std::vector<std::string> near = nearest(name, header_, 1);
  input_.fail(1, fmt::format("no column \"{}\" in the header{}", name,
                             near.empty() ? "" : fmt::format("; the nearest is \"{}\"", sanitised_text(near.front()))));
}

bool CsvRows::next() {
  if (!read_cells()) return false;
  if (cells_.size() != header_.size()) {
    input_.fail(line_, fmt::format("{} cells; expected {}, one a column of the header{}", cells_.size(), header_.size(),
                                   input_.line_ended() ? "" : "; the file is cut short"));
  }
  if (!input_.line_ended()) {
    input_.fail(line_,
                "the last line does not end with a line break, so the file may be cut short; fetch it again, or "
                "add the line break when it is complete");
  }
  return true;
}

bool CsvRows::read_cells() {
  std::string_view text;
  do {
    if (!input_.line(text)) return false;
  } while (text.empty());
  line_ = input_.line_number();
  cells_.clear();
  if (std::memchr(text.data(), '"', text.size()) == nullptr) {
    split(text);
  } else {
    split_quoted(quote_open(text) ? whole_record(text) : text);
  }
  return true;
}

void CsvRows::split(std::string_view text) {
  for (;;) {
    const std::size_t comma = text.find(',');
    cells_.push_back(without_blanks(text.substr(0, comma)));
    if (cells_.size() > max_columns) input_.fail(line_, fmt::format("over {} cells", max_columns));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

std::string_view CsvRows::whole_record(std::string_view first) {
  record_.assign(first);
  std::string_view more;
  while (quote_open(record_)) {
    if (!input_.line(more)) input_.fail(line_, "a quote is opened and never closed");
    record_ += '\n';
    record_ += more;
    if (record_.size() > max_line_bytes) {
      input_.fail(line_, fmt::format("a quote is opened and not closed within {} bytes", max_line_bytes));
    }
  }
  return record_;
}

void CsvRows::split_quoted(std::string_view text) {
  unquoted_.clear();
  unquoted_.reserve(text.size());  // views into it stay valid
  std::size_t at = 0;
  for (;;) {
    if (cells_.size() >= max_columns) input_.fail(line_, fmt::format("over {} cells", max_columns));
    if (at < text.size() && text[at] == '"') {
      const std::size_t begin = unquoted_.size();
      for (++at; at < text.size(); ++at) {
        if (text[at] == '"') {
          if (at + 1 >= text.size() || text[at + 1] != '"') break;
          ++at;
        }
        unquoted_ += text[at];
      }
      if (at >= text.size()) input_.fail(line_, "a quote is opened and never closed");
      ++at;
      cells_.push_back(without_blanks(std::string_view(unquoted_).substr(begin)));
    } else {
      const std::size_t end = std::min(text.find(',', at), text.size());
      cells_.push_back(without_blanks(text.substr(at, end - at)));
      at = end;
    }
    if (at >= text.size()) return;
    if (text[at] != ',') input_.fail(line_, "text behind a closing quote; expected a comma or the end of the line");
    ++at;
  }
}

}  // namespace claimcheck::catalog_import

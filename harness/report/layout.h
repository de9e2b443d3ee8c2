// Text for terminals: display columns of UTF-8, wrapping, tables. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace claimcheck {

// Columns a terminal uses for valid UTF-8: combining marks 0, East Asian wide and emoji 2, others 1. Colour sequences
// of paint() take none.
std::size_t display_width(std::string_view text);

// Cut to at most `width` columns; the last one is then "…".
std::string shortened(std::string_view text, std::size_t width);

std::string padded(std::string_view text, std::size_t width, bool right = false);

// Lines of at most `width` columns, broken at blanks; words longer than a line are cut into pieces. No trailing blanks.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// "heading   text", wrapped to `width`, later lines indented by `indent`. Ends with a newline.
std::string labelled(std::string_view heading, std::string_view text, std::size_t indent, std::size_t width);

enum class Colour { none, good, bad, open, strong, faint };

// With the escape sequence around it; plain for `none` or when `on` is false.
std::string paint(std::string_view text, Colour colour, bool on);

// Rows of cells under headings. A column is as wide as its widest cell, at most `most_columns` of it.
class Table {
 public:
  struct Column {
    std::string heading;
    bool right = false;
    std::size_t most_columns = 100;
    bool yields = false;  // becomes narrower, to a third of the screen, where the others need the room
  };
  struct Cell {
    std::string text;
    Colour colour = Colour::none;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back({std::move(row), {}, 0}); }
  // Text over the whole width, wrapped.
  void note(std::string text, std::size_t indent) { rows_.push_back({{}, std::move(text), indent}); }
  bool empty() const { return rows_.empty(); }
  std::string render(std::size_t width, bool colour) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::string note;
    std::size_t indent = 0;
  };
  std::vector<std::size_t> widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace claimcheck

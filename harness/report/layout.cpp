// Widths are counted character by character: a locale would be needed for wcwidth(), and the C one knows no UTF-8.
#include "harness/report/layout.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace claimcheck {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode 15, coarse: blocks of combining marks and format characters, and of East Asian Width W or F and emoji.
constexpr Range no_columns[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},  {0x0610, 0x061A},
                                {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},  {0x200B, 0x200F},
                                {0x202A, 0x202E}, {0x2060, 0x2069}, {0x20D0, 0x20FF},  {0xFE00, 0xFE0F},
                                {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE0FFF}};
constexpr Range two_columns[] = {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},  {0x2705, 0x2705},
                                 {0x274C, 0x274C},   {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},
                                 {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                                 {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                 {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t n>
bool in(const Range (&ranges)[n], std::uint32_t point) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& range) { return range.first <= point && point <= range.last; });
}

struct Step {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

std::size_t sequence_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xF0) return 4;
  return lead >= 0xE0 ? 3 : 2;
}

// The character, or the colour sequence, at `at`.
Step step(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with("\x1b[")) {
    const std::size_t end = text.find('m', at);
    return {end == std::string_view::npos ? text.size() - at : end + 1 - at, 0};
  }
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = std::min(sequence_bytes(lead), text.size() - at);
  std::uint32_t point = bytes == 1 ? lead : lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) point = point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  if (in(no_columns, point)) return {bytes, 0};
  return {bytes, in(two_columns, point) ? 2U : 1U};
}

// Bytes of the longest beginning of at most `width` columns; at least one character when `width` > 0.
std::size_t fitting_bytes(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < text.size()) {
    const Step next = step(text, at);
    if (used + next.columns > width && (at > 0 || width == 0)) break;
    used += next.columns;
    at += next.bytes;
  }
  return at;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Step next = step(text, at);
    width += next.columns;
    at += next.bytes;
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(text.substr(0, width == 1 ? 0 : fitting_bytes(text, width - 1))) + "…";
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string blanks(used < width ? width - used : 0, ' ');
  return right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    at = end;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width)
      lines.push_back(std::exchange(line, {}));
    while (line.empty() && display_width(word) > width) {
      const std::size_t bytes = fitting_bytes(word, width);
      if (bytes == 0) break;
      lines.emplace_back(word.substr(0, bytes));
      word.remove_prefix(bytes);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::string labelled(std::string_view heading, std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  bool first = true;
  for (const std::string& line : wrapped(text, width - indent)) {
    out += without_trailing_blanks(padded(first ? heading : "", indent) + line) + '\n';
    first = false;
  }
  return out;
}

std::string paint(std::string_view text, Colour colour, bool on) {
  static constexpr const char* codes[] = {"", "32", "31", "33", "1", "2"};
  if (!on || colour == Colour::none) return std::string(text);
  return "\x1b[" + std::string(codes[static_cast<std::size_t>(colour)]) + "m" + std::string(text) + "\x1b[0m";
}

std::vector<std::size_t> Table::widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = display_width(columns_[i].heading);
    for (const Row& row : rows_) {
      if (i < row.cells.size()) widest = std::max(widest, display_width(row.cells[i].text));
    }
    widths.push_back(std::min(widest, columns_[i].most_columns));
  }
  std::size_t all = widths.empty() ? 0 : 2 * widths.size() - 1;  // blanks before and between
  for (const std::size_t one : widths) all += one;
  for (std::size_t i = 0; i < widths.size() && all > width; ++i) {
    if (!columns_[i].yields) continue;
    const std::size_t least = std::min(widths[i], width / 3);
    const std::size_t given = std::min(all - width, widths[i] - least);
    widths[i] -= given;
    all -= given;
  }
  return widths;
}

std::string Table::render(std::size_t width, bool colour) const {
  const std::vector<std::size_t> wide = widths(width);
  std::string out;
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string text;
    std::size_t used = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += i == 0 ? " " : "  ";
      used += i == 0 ? 1 : 2;
      const std::size_t room = std::min(wide[i], width > used ? width - used : 0);
      text += paint(padded(shortened(cells[i].text, room), room, columns_[i].right), cells[i].colour, colour);
      used += room;
    }
    out += without_trailing_blanks(std::move(text)) + '\n';
  };
  std::vector<Cell> headings;
  for (const Column& column : columns_) headings.push_back({column.heading, Colour::faint});
  line(headings);
  for (const Row& row : rows_) {
    if (row.cells.empty()) {
      out += labelled("", row.note, row.indent, width);
    } else {
      line(row.cells);
    }
  }
  return out;
}

}  // namespace claimcheck

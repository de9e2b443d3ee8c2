#include "harness/report/markdown_text.h"

#include <fmt/format.h>

namespace claimcheck {

std::string markdown_text(std::string_view text) {
  constexpr std::string_view marks = "\\`*_{}[]()#<>&|~@!$";
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
    } else if (marks.find(c) != std::string_view::npos) {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace claimcheck

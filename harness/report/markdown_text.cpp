// GitHub looks for mentions and references only after it has undone the backslashes; an empty comment behind the mark
// keeps it from the name.
#include "harness/report/markdown_text.h"

namespace claimcheck {

std::string markdown_text(std::string_view text) {
  constexpr std::string_view marks = "\\`*_[]<>#!|~&@$";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (marks.find(c) != std::string_view::npos) out += '\\';
    out += c;
    if (c == '@' || c == '#' || (c == ':' && text.substr(i + 1).starts_with("//"))) out += "<!-- -->";
  }
  return out;
}

}  // namespace claimcheck

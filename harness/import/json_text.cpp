#include "harness/import/json_text.h"

#include <utility>

#include "harness/import/fields.h"

namespace claimcheck::importing {

bool JsonCollector::begins(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.empty()) return false;
  const std::string_view rest = trimmed(text.substr(1));
  if (text.front() == '{') return rest.empty() || rest.front() == '"' || rest == "}";
  return text.front() == '[' && (rest.empty() || rest.front() == '{');
}

JsonCollector::State JsonCollector::line(std::string_view text) {
  if (depth_ == 0 && !begins(text)) return State::none;
  if (text_.size() + text.size() > max_json_bytes) {
    take();
    return State::too_large;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      text_.append(text.substr(0, i + 1));
      return State::complete;
    }
  }
  text_.append(text).append("\n");
  return State::inside;
}

std::string JsonCollector::take() {
  depth_ = 0;
  in_string_ = false;
  escaped_ = false;
  return std::exchange(text_, {});
}

}  // namespace claimcheck::importing

#include "harness/report/html/escape.h"

namespace claimcheck::report {

std::string escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string script_json(const nlohmann::json& value) {
  // Only ASCII, and "<" as an escape: "</script" and "<!--" cannot occur.
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string element(std::string_view name, std::string_view text, std::string_view attributes) {
  return wrapped_in(name, escaped(text), attributes);
}

std::string wrapped_in(std::string_view name, std::string_view html, std::string_view attributes) {
  std::string out = "<" + std::string(name);
  if (!attributes.empty()) out += " " + std::string(attributes);
  return out + ">" + std::string(html) + "</" + std::string(name) + ">";
}

}  // namespace claimcheck::report

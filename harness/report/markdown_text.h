// Text of strangers inside GitHub's Markdown: nothing in it may become markup, a link, a mention, a reference or HTML.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace claimcheck {

// On one line.
std::string markdown_text(std::string_view text);

}  // namespace claimcheck

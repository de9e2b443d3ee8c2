// Text of strangers inside Markdown: nothing in it may become markup, a link, a mention or HTML. Pure.
#pragma once

#include <string>
#include <string_view>

namespace claimcheck {

// Punctuation that Markdown or HTML gives a meaning becomes an entity, which neither reads as markup; line breaks
// become blanks.
std::string markdown_text(std::string_view text);

}  // namespace claimcheck

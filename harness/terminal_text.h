// Text of strangers (result files, file names, library messages) made safe to show.
#pragma once

#include <string>
#include <string_view>

namespace claimcheck {

// Valid UTF-8 on one line. Line breaks and tabs become blanks; other control characters (C0, C1, DEL), characters that
// turn the direction of writing, and bytes that are not UTF-8 become U+FFFD.
std::string sanitised_text(std::string_view text);

// Whether all of it is well-formed UTF-8 (RFC 3629).
bool is_utf8(std::string_view text);

}  // namespace claimcheck

// A result file may come from a stranger: nothing in it may steer the terminal it is shown on.
#pragma once

#include <string>
#include <string_view>

#include "harness/result/document.h"

namespace claimcheck {

// Valid UTF-8 on one line. Line breaks and tabs become blanks; other control characters (C0, C1, DEL), characters that
// turn the direction of writing, and bytes that are not UTF-8 become U+FFFD.
std::string sanitised_text(std::string_view text);

// Every string of it, keys of objects included.
nlohmann::json sanitised_json(const nlohmann::json& value);
Document sanitised(Document document);

}  // namespace claimcheck

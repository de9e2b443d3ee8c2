// Text and JSON made safe to stand in an HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace claimcheck::report {

// For element content and for attributes in double quotes.
std::string escaped(std::string_view text);

// For the content of a <script>: no byte sequence in it ends the element or opens a comment.
std::string script_json(const nlohmann::json& value);

// "<name attributes>escaped text</name>"; `attributes` is ours and comes as it is.
std::string element(std::string_view name, std::string_view text, std::string_view attributes = "");

// The same around HTML that is finished.
std::string wrapped_in(std::string_view name, std::string_view html, std::string_view attributes = "");

}  // namespace claimcheck::report

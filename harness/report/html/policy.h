// What a page is allowed to do, as a Content-Security-Policy.
#pragma once

#include <string>
#include <vector>

namespace claimcheck::report {

// Nothing but these scripts (by their SHA-256), styles in the page and images drawn in it. No request to anywhere.
std::string content_policy(const std::vector<std::string>& scripts);

}  // namespace claimcheck::report

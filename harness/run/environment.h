// Which of this process's environment variables a worker gets: those that libraries and launchers need, by an allow
// list. Tokens and keys of the user's shell stay here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

// Names, also with one * at the end, that are passed on besides those of the list: "MY_FABRIC,ACME_*".
inline constexpr const char* passed_on_variable = "CLAIMCHECK_PASS";

bool is_passed_on(std::string_view name, std::string_view further = {});

// "NAME=value" of each variable of `environment` (null-terminated, as environ) that a worker gets.
std::vector<std::string> worker_environment(const char* const* environment);

}  // namespace claimcheck

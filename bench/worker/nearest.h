// The word of a list that a user most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace claimcheck::bench {

// By edit distance (insert, delete, replace); empty when `words` is.
std::string nearest(std::string_view word, std::span<const std::string> words);

}  // namespace claimcheck::bench

// "Did you mean": the words of a list closest to a mistyped one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

// At most `most` of `words`, nearest first: by edits (insert, delete, replace, swap of neighbours), case ignored; a
// word that contains the mistyped one counts as one edit away. Words that share too little with it are left out.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& words, std::size_t most);

// `"a", "b" or "c"`: for the end of an error sentence. Empty for no words.
std::string quoted_choice(const std::vector<std::string>& words);

}  // namespace claimcheck

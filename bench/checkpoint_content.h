// What the saved states hold: words made from the seed and their place, so that any part can be checked without
// anything to compare with. No layer can compress or share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace claimcheck::bench {

// Bytes `offset` and on of the states of a seed. Offset and size are multiples of 8.
void make_content(std::uint64_t seed, std::size_t offset, std::span<std::byte> target);

// Throws wrong_result with the place of the first difference; `what` starts the sentence.
void check_content(std::uint64_t seed, std::size_t offset, std::span<const std::byte> found, const std::string& what);

}  // namespace claimcheck::bench

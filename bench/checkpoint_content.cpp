#include "bench/checkpoint_content.h"

#include <fmt/format.h>

#include <cstring>

#include "kernels/device.h"

namespace claimcheck::bench {

namespace {

// SplitMix64 of the place: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
std::uint64_t word(std::uint64_t key, std::uint64_t place) {
  std::uint64_t z = key + (place + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::uint64_t key_of(std::uint64_t seed) { return word(0x636b7074U, seed); }

}  // namespace

void make_content(std::uint64_t seed, std::size_t offset, std::span<std::byte> target) {
  const std::uint64_t key = key_of(seed);
  for (std::size_t at = 0; at < target.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t value = word(key, (offset + at) / sizeof(std::uint64_t));
    std::memcpy(target.data() + at, &value, sizeof value);
  }
}

void check_content(std::uint64_t seed, std::size_t offset, std::span<const std::byte> found, const std::string& what) {
  const std::uint64_t key = key_of(seed);
  for (std::size_t at = 0; at < found.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t expected = word(key, (offset + at) / sizeof(std::uint64_t));
    std::uint64_t actual = 0;
    std::memcpy(&actual, found.data() + at, sizeof actual);
    if (actual == expected) continue;
    throw kernels::wrong_result(fmt::format("{}: the 8 bytes at {} are {:#018x}, the seed makes them {:#018x}", what,
                                            offset + at, actual, expected));
  }
}

}  // namespace claimcheck::bench

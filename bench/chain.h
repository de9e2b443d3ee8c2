// Chains of dependent loads through memory: which cycles there are, and where a walk over each must end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace claimcheck::bench {

// Every node has a cache line of its own and holds the index of the next. Since each walk starts anew at index 0, a
// large working set is divided into several cycles, walked in turn: each begins in a line of its own and goes on
// through lines drawn at random from all the others, so that a line is met again only after all of them.
class Chains {
 public:
  static constexpr std::size_t line_bytes = 128;
  static constexpr std::size_t index_bytes = 8;
  static constexpr std::size_t most_nodes = 4096;  // of one cycle: a walk over it takes about a millisecond

  // At least two lines.
  Chains(std::size_t working_set_bytes, std::uint64_t seed);

  std::size_t count() const { return ends_.size(); }
  std::size_t offset_bytes(std::size_t chain) const { return chain * line_bytes; }  // of its index 0 in the buffer
  std::int64_t loads() const { return loads_; }                                     // of one walk: all nodes but one
  std::uint64_t end(std::size_t chain) const { return ends_[chain]; }               // the index such a walk arrives at
  std::size_t size_bytes() const { return list_.size() * index_bytes; }
  std::span<const std::uint64_t> list() const { return list_; }

 private:
  std::vector<std::uint64_t> list_;
  std::vector<std::uint64_t> ends_;
  std::int64_t loads_ = 0;
};

}  // namespace claimcheck::bench

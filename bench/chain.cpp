#include "bench/chain.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace claimcheck::bench {

Chains::Chains(std::size_t working_set_bytes, std::uint64_t seed) {
  constexpr std::size_t indices_a_line = line_bytes / index_bytes;
  const std::size_t lines = std::max<std::size_t>(2, working_set_bytes / line_bytes);
  const std::size_t nodes = std::min(lines, most_nodes);
  const std::size_t chains = lines / nodes;
  list_.assign(chains * nodes * indices_a_line, 0);
  loads_ = static_cast<std::int64_t>(nodes) - 1;
  // Lines 0 to chains - 1 are the beginnings; the others are dealt out in random order.
  std::vector<std::size_t> dealt(chains * (nodes - 1));
  std::iota(dealt.begin(), dealt.end(), chains);
  std::mt19937_64 random(seed);
  for (std::size_t i = dealt.size(); i > 1; --i) std::swap(dealt[i - 1], dealt[random() % i]);
  for (std::size_t chain = 0; chain < chains; ++chain) {
    std::size_t at = chain;
    for (std::size_t i = 0; i + 1 < nodes; ++i) {
      const std::size_t next = dealt[chain * (nodes - 1) + i];
      list_[at * indices_a_line] = (next - chain) * indices_a_line;
      at = next;
    }
    ends_.push_back((at - chain) * indices_a_line);
    list_[at * indices_a_line] = 0;
  }
}

}  // namespace claimcheck::bench

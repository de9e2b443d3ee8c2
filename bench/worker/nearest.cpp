#include "bench/worker/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace claimcheck::bench {

namespace {

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> words) {
  const auto closer = [&](const std::string& left, const std::string& right) {
    return edit_distance(word, left) < edit_distance(word, right);
  };
  const auto found = std::min_element(words.begin(), words.end(), closer);
  return found == words.end() ? std::string{} : *found;
}

}  // namespace claimcheck::bench

// Optimal string alignment distance (Damerau-Levenshtein without edits of a swapped pair).
#include "harness/nearest.h"

#include <algorithm>
#include <utility>

namespace claimcheck {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& words, std::size_t most) {
  const std::string wanted = lower_case(word.substr(0, 200));  // the distance costs the product of the lengths
  std::vector<std::pair<std::size_t, std::string>> scored;
  for (const std::string& candidate : words) {
    const std::string lower = lower_case(candidate);
    std::size_t distance = edits(wanted, lower);
    if (wanted.size() >= 3 && lower.find(wanted) != std::string::npos) distance = std::min<std::size_t>(distance, 1);
    const std::size_t limit = std::max<std::size_t>(2, std::max(wanted.size(), lower.size()) / 2);
    if (distance <= limit) scored.emplace_back(distance, candidate);
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> found;
  for (auto& [distance, candidate] : scored) {
    if (found.size() == most) break;
    found.push_back(std::move(candidate));
  }
  return found;
}

std::string quoted_choice(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += '"' + words[i] + '"';
  }
  return text;
}

}  // namespace claimcheck

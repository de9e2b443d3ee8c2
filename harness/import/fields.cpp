#include "harness/import/fields.h"

#include <charconv>
#include <cmath>
#include <string>

namespace claimcheck::importing {

Fields::Fields(std::string_view line) {  // NOLINT(cppcoreguidelines-pro-type-member-init): words_ up to size_
  std::size_t at = 0;
  while (size_ < most) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    if (at >= line.size()) return;
    const std::size_t begin = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t') ++at;
    words_[size_++] = {line.data() + begin, at - begin};
  }
}

std::optional<double> number(std::string_view word) {
  if (word.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size())
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  if (word.find('_') == std::string_view::npos) return std::nullopt;
  // Groups of digits, however many in each: what was edited by hand is still a number.
  std::string plain;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool between = i > 0 && i + 1 < word.size() && word[i - 1] >= '0' && word[i - 1] <= '9';
    if (word[i] == '_' && !between) return std::nullopt;
    if (word[i] != '_') plain += word[i];
  }
  return number(plain);
}

std::optional<Quantity> quantity(std::string_view word) {
  Quantity found;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), found.value);
  if (error != std::errc() || !std::isfinite(found.value)) return std::nullopt;
  found.unit = trimmed(word.substr(static_cast<std::size_t>(end - word.data())));
  return found;
}

std::optional<double> binary_bytes(std::string_view word) {
  const auto found = quantity(trimmed(word));
  if (!found || found->value < 0) return std::nullopt;
  std::string_view unit = found->unit;
  if (unit.ends_with('B')) unit.remove_suffix(1);
  if (unit.ends_with('i')) unit.remove_suffix(1);
  if (unit.empty()) return found->value;
  constexpr std::string_view letters = "KMGT";
  const char letter = unit.front() >= 'a' ? static_cast<char>(unit.front() - 'a' + 'A') : unit.front();
  const std::size_t power = letters.find(letter);
  if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  return found->value * std::pow(1024.0, static_cast<double>(power + 1));
}

std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  return trimmed(text.substr(found + mark.size()));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace claimcheck::importing

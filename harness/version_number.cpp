#include "harness/version_number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

namespace claimcheck {
namespace {

bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct Version {
  std::vector<long long> parts;
  int stage = 0;  // 0: a release; below: -1 rc, -2 beta, -3 alpha, -4 dev
  long long number = 0;
};

// Digits at the start of `text`, taken off it.
long long take_number(std::string_view& text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? value : 0;
}

void take_stage(std::string_view text, Version& version) {
  static constexpr std::array<std::pair<std::string_view, int>, 8> stages{
      {{"alpha", -3}, {"beta", -2}, {"dev", -4}, {"pre", -1}, {"rc", -1}, {"a", -3}, {"b", -2}, {"c", -1}}};
  while (!text.empty() && (text.front() == '.' || text.front() == '-' || text.front() == '_' || text.front() == '~'))
    text.remove_prefix(1);
  for (const auto& [word, stage] : stages) {
    if (!text.starts_with(word)) continue;
    std::string_view rest = text.substr(word.size());
    if (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest.front())) != 0) continue;  // "amzn1" is no alpha
    version.stage = stage;
    while (!rest.empty() && (rest.front() == '.' || rest.front() == '-')) rest.remove_prefix(1);
    version.number = take_number(rest);
    return;
  }
}

Version parsed(std::string_view text) {
  Version version;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && std::all_of(text.begin(), text.begin() + static_cast<long>(colon), digit))
    text.remove_prefix(colon + 1);
  if (!text.empty() && (text.front() == 'v' || text.front() == 'V')) text.remove_prefix(1);
  while (!text.empty() && digit(text.front())) {
    version.parts.push_back(take_number(text));
    if (text.size() < 2 || text.front() != '.' || !digit(text[1])) break;
    text.remove_prefix(1);
  }
  if (!version.parts.empty()) take_stage(text, version);
  return version;
}

int sign(long long difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

int compare_parts(const Version& left, const Version& right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const long long a = i < left.parts.size() ? left.parts[i] : 0;
    const long long b = i < right.parts.size() ? right.parts[i] : 0;
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

}  // namespace

bool is_version(std::string_view text) { return !parsed(text).parts.empty(); }

int compare_versions(std::string_view left, std::string_view right) {
  const Version a = parsed(left);
  const Version b = parsed(right);
  if (a.parts.empty() || b.parts.empty()) return sign((a.parts.empty() ? 0 : 1) - (b.parts.empty() ? 0 : 1));
  const int parts = compare_parts(a, b, std::max(a.parts.size(), b.parts.size()));
  if (parts != 0) return parts;
  return a.stage != b.stage ? sign(a.stage - b.stage) : sign(a.number - b.number);
}

bool version_meets(std::string_view found, std::string_view comparison, std::string_view claimed) {
  if (comparison == ">=") return compare_versions(found, claimed) >= 0;
  if (comparison == "<=") return compare_versions(found, claimed) <= 0;
  const Version here = parsed(found);
  const Version asked = parsed(claimed);
  return compare_parts(here, asked, asked.parts.size()) == 0 && (asked.stage == 0 || asked.stage == here.stage);
}

}  // namespace claimcheck

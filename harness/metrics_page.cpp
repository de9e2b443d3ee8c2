// Headings are lists of words with commas between; backquotes around a word are for Markdown only.
#include "harness/metrics_page.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "harness/embedded.h"

namespace claimcheck {
namespace {

std::string trimmed(std::string_view text, std::string_view what) {
  const std::size_t begin = text.find_first_not_of(what);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(what) + 1 - begin));
}

std::vector<std::string> words_of(std::string_view heading) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= heading.size();) {
    const std::size_t comma = std::min(heading.find(',', at), heading.size());
    if (std::string word = trimmed(heading.substr(at, comma - at), " `"); !word.empty())
      words.push_back(std::move(word));
    at = comma + 1;
  }
  return words;
}

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::vector<PageSection> sections_of(std::string_view page) {
  std::vector<PageSection> sections;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string_view line = page.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("## ")) {
      sections.push_back({words_of(line.substr(3)), {}});
    } else if (!sections.empty()) {
      sections.back().text += std::string(line) + '\n';
    }
  }
  for (PageSection& section : sections) section.text = trimmed(section.text, "\n ");
  return sections;
}

const std::vector<PageSection>& metric_sections() {
  static const std::vector<PageSection> sections = [] {
    const auto page = embedded_file("docs/metrics.md");
    if (!page) throw std::logic_error("docs/metrics.md is not in this binary");
    return sections_of(*page);
  }();
  return sections;
}

const PageSection* find_section(std::string_view word) {
  for (const PageSection& section : metric_sections()) {
    for (const std::string& candidate : section.words) {
      if (same(candidate, word)) return &section;
    }
  }
  return nullptr;
}

}  // namespace claimcheck

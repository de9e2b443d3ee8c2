// docs/metrics.md, the page that defines every number the tool prints, cut into its sections. Pure, but for the
// embedded page itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace claimcheck {

// "## memory.read.gbps, memory.write.gbps" and what follows up to the next heading of that level.
struct PageSection {
  std::vector<std::string> words;  // of the heading: "memory.read.gbps", "cv", "cost per useful EFLOP"
  std::string text;                // without the heading, without blank lines at its ends
};

std::vector<PageSection> sections_of(std::string_view page);

// Of the embedded page.
const std::vector<PageSection>& metric_sections();

// By heading word, case ignored; nullptr when there is none.
const PageSection* find_section(std::string_view word);

}  // namespace claimcheck

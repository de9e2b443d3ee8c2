#include "harness/findings/kinds.h"

#include <fmt/format.h>

#include <stdexcept>

#include "harness/embedded.h"
#include "harness/metrics_page.h"

namespace claimcheck {
namespace {

// Lines of a paragraph joined by blanks.
std::string joined(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == '\n' || c == ' ';
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : c;
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

// What stands after `mark` up to the next empty line.
std::string paragraph(const PageSection& section, std::string_view mark) {
  const std::size_t at = section.text.find(mark);
  if (at == std::string::npos) throw std::invalid_argument(fmt::format("{}: no \"{}\"", section.words.front(), mark));
  const std::size_t begin = at + mark.size();
  return joined(std::string_view(section.text).substr(begin, section.text.find("\n\n", begin) - begin));
}

}  // namespace

std::vector<FindingKind> kinds_of(std::string_view page) {
  std::vector<FindingKind> kinds;
  for (const PageSection& section : sections_of(page)) {
    if (section.words.empty() || section.words.front().find('.') == std::string::npos) continue;  // no id: an intro
    FindingKind kind;
    for (const char* severity : {"info", "warning", "error"}) {
      const std::string mark = fmt::format("**Seen by ({}).**", severity);
      if (section.text.find(mark) == std::string::npos) continue;
      kind.severity = severity;
      kind.when = paragraph(section, mark);
    }
    if (kind.severity.empty())
      throw std::invalid_argument(
          fmt::format("{}: no \"**Seen by (info, warning or error).**\"", section.words.front()));
    kind.cause = paragraph(section, "**Likely cause.**");
    kind.next_step = paragraph(section, "**Next step.**");
    for (const std::string& word : section.words) {
      kind.id = word;
      kinds.push_back(kind);
    }
  }
  return kinds;
}

const std::vector<FindingKind>& finding_kinds() {
  static const std::vector<FindingKind> kinds = [] {
    const auto page = embedded_file("docs/findings.md");
    if (!page) throw std::logic_error("docs/findings.md is not in this binary");
    return kinds_of(*page);
  }();
  return kinds;
}

const FindingKind* find_kind(std::string_view id) {
  const std::string_view family = id.substr(0, id.find(':'));
  for (const FindingKind& kind : finding_kinds())
    if (kind.id == family) return &kind;
  return nullptr;
}

Finding finding_of_kind(std::string_view id, std::string text, nlohmann::json evidence, int device) {
  const FindingKind* kind = find_kind(id);
  if (kind == nullptr) throw std::logic_error(fmt::format("docs/findings.md has no section {}", id));
  std::string next_step = kind->next_step;
  constexpr std::string_view place = "{device}";
  for (std::size_t at = next_step.find(place); at != std::string::npos; at = next_step.find(place))
    next_step.replace(at, place.size(), fmt::format("{}", device));
  return {.id = std::string(id),
          .severity = kind->severity,
          .text = std::move(text),
          .next_step = std::move(next_step),
          .evidence = std::move(evidence),
          .cause = kind->cause};
}

void add_cause(Finding& finding) {
  if (!finding.cause.empty()) return;
  if (const FindingKind* kind = find_kind(finding.id)) finding.cause = kind->cause;
}

}  // namespace claimcheck

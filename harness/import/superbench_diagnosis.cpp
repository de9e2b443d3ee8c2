#include "harness/import/superbench_diagnosis.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "harness/import/fields.h"
#include "harness/import/measured.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

// At commas outside of parentheses.
std::vector<std::string_view> issues_of(std::string_view text) {
  std::vector<std::string_view> issues;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size() && issues.size() < 10'000; ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    const std::string_view issue = trimmed(text.substr(begin, i - begin));
    if (!issue.empty()) issues.push_back(issue);
    begin = i + 1;
  }
  return issues;
}

// "0.0060" behind "B/L:", "1577.85%" behind "VAR:".
std::string figure(std::string_view text, std::string_view mark) {
  const auto rest = after(text, mark);
  if (!rest) return "";
  std::string_view word = Fields(*rest)[0];
  while (!word.empty() && (word.back() == ')' || word.back() == ',')) word.remove_suffix(1);
  return std::string(word);
}

void add(Collected& collected, const std::string& id, const std::string& text, const std::string& next) {
  collected.add(Finding{id, "error", text, next, {}});
}

void violation(Collected& collected, const std::string& node, std::string_view issue) {
  const std::size_t open = issue.find('(');
  const std::string name(issue.substr(0, open));
  const std::string_view inside = open == std::string_view::npos ? std::string_view() : issue.substr(open);
  const std::string base = figure(inside, "B/L:");
  const std::string value = figure(inside, "VAL:");
  const std::string variance = figure(inside, "VAR:");
  if (name.ends_with("/return_code")) {
    add(collected, "import.superbench_failed",
        fmt::format("Node {}: {} ended with code {}.", node, name.substr(0, name.find('/')), value),
        "Look into that benchmark's own output on that node.");
    return;
  }
  const auto baseline = number(base);
  std::string text = fmt::format("Node {}: {}", node, name);
  if (!value.empty()) text += fmt::format(" is {}", value);
  if (baseline && *baseline == 0)
    text += "; its baseline is 0, so that the deviation says nothing";
  else if (!base.empty())
    text += fmt::format(" against a baseline of {}{}", base, variance.empty() ? "" : fmt::format(" ({})", variance));
  if (const auto rule = after(inside, "Rule:")) {
    std::string_view words = *rule;
    if (words.ends_with(')')) words.remove_suffix(1);
    text += fmt::format("; the rule is \"{}\"", words);
  }
  add(collected, "import.superbench_defect", text + ".", "Run this benchmark again on that node, alone.");
}

}  // namespace

bool superbench_diagnosis(Collected& collected, const json& value) {
  std::string details;
  bool found = false;
  for (const char* key : {"Defective Details", "Issue Details", "Issue_Details", "defective details"})
    if (value.contains(key)) {
      found = true;
      details = text_of(value, key);
    }
  if (!found) return false;
  std::string node = text_of(value, "index");
  if (node.empty()) node = text_of(value, "Index");
  if (node.empty()) node = "without a name";
  std::map<std::string, std::size_t> missing;
  for (const std::string_view issue : issues_of(details)) {
    if (issue.ends_with("_miss"))
      ++missing[std::string(issue.substr(0, issue.find('/')))];
    else
      violation(collected, node, issue);
  }
  for (const auto& [benchmark, count] : missing)
    add(collected, "import.superbench_missing",
        fmt::format("Node {}: {} figure{} of {} {} missing: it did not run there, which is no figure of 0.", node,
                    count, count == 1 ? "" : "s", benchmark, count == 1 ? "is" : "are"),
        "Run this benchmark again on that node and look at its output.");
  collected.note("figures beside names are deviations from a baseline, not values: they are not imported");
  if (trimmed(details).empty()) collected.note(fmt::format("node {}: no issue", node));
  return true;
}

}  // namespace claimcheck::importing

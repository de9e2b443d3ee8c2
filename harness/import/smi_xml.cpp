#include "harness/import/smi_xml.h"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/import/fields.h"

namespace claimcheck::importing {
namespace {

constexpr std::size_t most_open = 64;       // nvidia-smi nests 6 deep
constexpr std::size_t most_text = 1 << 16;  // of one element; more says nothing of a GPU

std::string decoded(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> names = {
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return text.substr(i).starts_with(name.first); });
    if (found == names.end()) {
      result += text[i++];
    } else {
      result += found->second;
      i += found->first.size();
    }
  }
  return result;
}

}  // namespace

bool SmiXml::line(std::string_view text, std::size_t number) {
  const std::string_view begin = trimmed(text);
  const bool head = begin.starts_with("<?xml") || begin.starts_with("<!DOCTYPE nvidia_smi_log");
  std::size_t at = 0;
  if (!inside() && !in_tag_) {
    at = text.find("<nvidia_smi_log");
    if (at == std::string_view::npos) return head;
  }
  while (at < text.size()) {
    const std::size_t mark = text.find(in_tag_ ? '>' : '<', at);
    std::string& target = in_tag_ ? tag_ : text_;
    if (target.size() < most_text) target += text.substr(at, mark - at);
    if (mark == std::string_view::npos) break;
    at = mark + 1;
    if (in_tag_) tag(std::exchange(tag_, {}), number);
    in_tag_ = !in_tag_;
  }
  (in_tag_ ? tag_ : text_) += ' ';
  return true;
}

void SmiXml::tag(std::string_view inside_of_tag, std::size_t number) {
  std::string_view rest = trimmed(inside_of_tag);
  if (rest.empty() || rest.front() == '?' || rest.front() == '!') return;
  if (rest.front() == '/') return close(trimmed(rest.substr(1)));
  const bool empty = rest.back() == '/';
  if (empty) rest.remove_suffix(1);
  const std::string name(rest.substr(0, rest.find_first_of(" \t")));
  if (!open_.empty()) open_.back().has_elements = true;
  if (open_.size() >= most_open) return;
  open_.push_back({name, number, false});
  text_.clear();
  if (name == "gpu" && open_.size() == 2) {
    gpu_depth_ = open_.size();
    const auto id = after(rest, "id=\"");
    gpu(id ? id->substr(0, id->find('"')) : std::string_view());
  }
  if (empty) close(name);
}

std::string SmiXml::place() const {
  std::string path;
  for (std::size_t i = gpu_depth_ > 0 ? gpu_depth_ : 1; i < open_.size(); ++i)
    path += (path.empty() ? "" : "/") + open_[i].name;
  return path;
}

// What was left open inside of it is closed with it.
void SmiXml::close(std::string_view name) {
  const auto found =
      std::find_if(open_.rbegin(), open_.rend(), [&](const Element& element) { return element.name == name; });
  if (found == open_.rend()) return;
  while (!open_.empty()) {
    const bool last = open_.back().name == name;
    if (!open_.back().has_elements && last) value(place(), trimmed(decoded(text_)));
    text_.clear();
    open_.pop_back();
    if (gpu_depth_ > open_.size()) gpu_depth_ = 0;
    if (last) return;
  }
}

}  // namespace claimcheck::importing

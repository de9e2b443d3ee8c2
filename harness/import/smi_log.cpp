#include "harness/import/smi_log.h"

#include <array>

#include "harness/import/fields.h"

namespace claimcheck::importing {
namespace {

constexpr std::array<std::string_view, 6> sections_alone = {
    "Clocks Throttle Reasons", "Clocks Event Reasons", "Remapped Rows",
    "Retired Pages",           "ECC Errors",           "GPU Power Readings"};

// Whether a section of -q begins here without what stands above it.
bool section_alone(std::string_view text) {
  for (const std::string_view section : sections_alone)
    if (text == section) return true;
  return false;
}

// "GPU 00000000:3B:00.0", also "GPU 0000:04:00.0"
bool gpu_heading(std::string_view text) {
  return text.starts_with("GPU ") && Fields(text).size() == 2 && contains(text, ":") && bus_id(text.substr(4));
}

}  // namespace

bool SmiLog::begins(std::string_view text) {
  if (contains(text, "NVSMI LOG")) {
    gpus_.begin_document();
    gpu_ = nullptr;
    sections_.clear();
    return on_ = true;
  }
  if (gpu_heading(text)) {
    gpu_ = &gpus_.begin();
    gpu_->take(SmiOutput::csv, "pci.bus_id", text.substr(4));
    sections_.clear();
    return on_ = true;
  }
  if (!on_ && section_alone(trimmed(text))) {
    gpu_ = &gpus_.begin();
    sections_.clear();
    on_ = true;
    return false;
  }
  return false;
}

void SmiLog::root(std::string_view key, std::string_view value) {
  if (key == "Driver Version" || key == "KMD Version") gpus_.driver(value);
  if (key == "CUDA Version" || key == "CUDA UMD Version") gpus_.cuda(value);
  if (key == "Attached GPUs") gpus_.attached(value);
}

bool SmiLog::line(std::string_view text) {
  if (begins(text)) return true;
  if (!on_) return false;
  const std::size_t indent = text.find_first_not_of(" \t");
  if (indent == std::string_view::npos) return true;
  const std::string_view rest = trimmed(text);
  std::size_t colon = rest.find(" : ");
  if (colon == std::string_view::npos && rest.ends_with(" :")) colon = rest.size() - 2;
  const bool has_value = colon != std::string_view::npos;
  if (indent == 0 && !has_value) {
    // Another tool's output, or a prompt.
    on_ = false;
    return false;
  }
  while (!sections_.empty() && sections_.back().first >= indent) sections_.pop_back();
  const std::string_view key = trimmed(rest.substr(0, colon));
  std::string place;
  for (const auto& [depth, name] : sections_) place += name + "/";
  place += key;
  if (has_value) {
    const std::string_view value = trimmed(rest.substr(std::min(rest.size(), colon + 2)));
    if (gpu_ != nullptr)
      gpu_->take(SmiOutput::text, place, value);
    else
      root(key, value);
  }
  // A key with a value may head others: "HW Slowdown : Not Active" over "HW Thermal Slowdown".
  sections_.emplace_back(indent, std::string(key));
  return true;
}

}  // namespace claimcheck::importing

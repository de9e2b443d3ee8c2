#include "harness/import/smi_table.h"

#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "harness/import/fields.h"

namespace claimcheck::importing {
namespace {

std::vector<std::string_view> cells(std::string_view text) {
  std::vector<std::string_view> found;
  text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    if (bar == std::string_view::npos) break;
    found.push_back(trimmed(text.substr(0, bar)));
    text.remove_prefix(bar + 1);
  }
  return found;
}

// A version behind a label: "Driver Version: 590.48.01      CUDA Version: 13.1".
std::string_view version_after(std::string_view text, std::string_view label) {
  const auto rest = after(text, label);
  return rest ? rest->substr(0, rest->find_first_of(" |")) : std::string_view();
}

bool is_number(std::string_view word) { return number(word).has_value(); }

}  // namespace

bool SmiTable::line(std::string_view text) {
  const std::string_view row = trimmed(text);
  if (contains(row, "| NVIDIA-SMI ")) return heading(row);
  if (part_ == Part::none) return false;
  if (row.empty()) return true;
  if (row.starts_with('+') || row.starts_with("|-") || row.starts_with("|=")) return true;
  if (!row.starts_with('|')) {
    // "Tue Jul 14 09:00:26 2026" of the next table is none of this one's lines.
    part_ = Part::none;
    return false;
  }
  if (contains(row, "MIG devices:")) {
    part_ = Part::mig;
    return true;
  }
  if (contains(row, "Processes:")) {
    part_ = Part::processes;
    return true;
  }
  if (part_ == Part::gpus) return gpu_line(row);
  if (part_ == Part::mig) mig(row);
  return true;
}

bool SmiTable::heading(std::string_view row) {
  gpus_.begin_document();
  part_ = Part::gpus;
  gpu_ = nullptr;
  for (const char* label : {"Driver Version:", "KMD Version:"})
    if (const auto version = version_after(row, label); !version.empty()) gpus_.driver(version);
  for (const char* label : {"CUDA Version:", "CUDA UMD Version:"})
    if (const auto version = version_after(row, label); !version.empty()) gpus_.cuda(version);
  return true;
}

bool SmiTable::gpu_line(std::string_view row) {
  const auto cell = cells(row);
  if (cell.size() != 3) return true;
  const Fields left(cell[0]);
  const Fields middle(cell[1]);
  if (left.size() > 1 && is_number(left[0]) && middle.size() > 0 && bus_id(middle[0])) {
    first(cell[0], cell[1], cell[2]);
  } else if (gpu_ != nullptr && row_ == 1) {
    second(cell[0], cell[1], cell[2]);
  } else if (gpu_ != nullptr && row_ == 2) {
    gpu_->take(SmiOutput::csv, "mig.mode.current", cell[2]);
    ++row_;
  }
  return true;
}

void SmiTable::first(std::string_view left, std::string_view middle, std::string_view right) {
  const Fields words(left);
  gpu_ = &gpus_.at_index(static_cast<int>(number(words[0]).value_or(0)));
  row_ = 1;
  // The last word is persistence mode, or Windows' driver model.
  const std::string_view last = words[words.size() - 1];
  std::string_view name = trimmed(left.substr(words[0].size()));
  name = trimmed(name.substr(0, name.size() - last.size()));
  gpu_->take(SmiOutput::csv,
             last == "WDDM" || last == "TCC" || last == "MCDM" ? "driver_model.current" : "persistence_mode", last);
  gpu_->short_name = name.ends_with("...");
  if (gpu_->short_name) name = trimmed(name.substr(0, name.size() - 3));
  gpu_->take(SmiOutput::csv, "name", name);
  const Fields place(middle);
  gpu_->take(SmiOutput::csv, "pci.bus_id", place[0]);
  if (place.size() > 1) gpu_->take(SmiOutput::csv, "display_active", place[1]);
  // A number: errors since the driver was loaded. "On": ECC is on, and MIG hides the number.
  gpu_->take(SmiOutput::csv, "ecc.errors.uncorrected.volatile.total", right);
  if (right == "Off" || right == "On" || is_number(right))
    gpu_->take(SmiOutput::csv, "ecc.mode.current", right == "Off" ? "Off" : "On");
}

void SmiTable::second(std::string_view left, std::string_view middle, std::string_view right) {
  ++row_;
  const Fields words(left);  // "N/A   42C    P0    98W /  700W"
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "ERR!" || (word.size() > 1 && word[0] == 'P' && is_number(word.substr(1))))
      gpu_->take(SmiOutput::csv, "pstate", word);
    if (word.ends_with('C') && is_number(word.substr(0, word.size() - 1)))
      gpu_->take(SmiOutput::csv, "temperature.gpu", word);
    if (word == "/" && i > 0) gpu_->take(SmiOutput::csv, "power.draw", words[i - 1]);
    if (word == "/" && i + 1 < words.size()) gpu_->take(SmiOutput::csv, "power.limit", words[i + 1]);
  }
  const std::size_t slash = middle.find('/');
  if (slash != std::string_view::npos) {
    gpu_->take(SmiOutput::csv, "memory.used", middle.substr(0, slash));
    gpu_->take(SmiOutput::csv, "memory.total", middle.substr(slash + 1));
  }
  const Fields load(right);
  if (load.size() > 0) gpu_->take(SmiOutput::csv, "utilization.gpu", load[0]);
  if (load.size() > 1) gpu_->take(SmiOutput::csv, "compute_mode", load[1]);
}

// "|  0    2   0   0  |   26MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |"
void SmiTable::mig(std::string_view row) {
  const auto cell = cells(row);
  if (cell.size() < 3) return;
  const Fields ids(cell[0]);
  const Fields memory(cell[1]);
  const Fields units(cell[2]);
  if (ids.size() != 4 || !is_number(ids[0]) || memory.size() < 3 || units.size() == 0) return;
  SmiGpu& gpu = gpus_.at_index(static_cast<int>(*number(ids[0])));
  if (gpu.slices.size() < 64)
    gpu.slices.push_back(fmt::format("MIG device {}: {} multiprocessors, {}", ids[3], units[0], memory[2]));
}

}  // namespace claimcheck::importing

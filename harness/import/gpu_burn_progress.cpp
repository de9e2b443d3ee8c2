#include "harness/import/gpu_burn_progress.h"

#include <algorithm>
#include <cstddef>

#include "harness/import/fields.h"

namespace claimcheck::importing {
namespace {

constexpr std::string_view mark = "proc'd:";
constexpr std::size_t most_gpus = 1024;

BurnGpu& gpu_at(BurnProgress& progress, std::size_t index) {
  if (progress.gpus.size() <= index) progress.gpus.resize(index + 1);
  return progress.gpus[index];
}

// " 2261 (7150 Gflop/s) - -1 (0 Gflop/s) - ..."
void read_rates(std::string_view text, BurnProgress& progress) {
  std::size_t index = 0;
  while (index < most_gpus) {
    const std::size_t open = text.find('(');
    const std::size_t close = text.find(')', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return;
    const Fields inside(text.substr(open + 1, close - open - 1));
    const auto rate = inside.size() > 0 ? number(inside[0]) : std::nullopt;
    BurnGpu& gpu = gpu_at(progress, index++);
    if (rate && *rate > 0) {
      const bool tera = inside.size() > 1 && inside[1].starts_with('T');
      gpu.gflops = tera ? *rate * 1000 : *rate;
      gpu.most_gflops = std::max(gpu.most_gflops, *gpu.gflops);
    }
    text.remove_prefix(close + 1);
  }
}

// " 0 - 3 (WARNING!)- -533715488  (DIED!)- 0"
void read_errors(std::string_view text, BurnProgress& progress) {
  std::size_t count = 0;
  std::size_t at = 0;
  while (at < text.size() && count <= most_gpus) {
    const std::size_t begin = text.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) return;
    at = std::min(text.find_first_of(" \t", begin), text.size());
    const std::string_view word = text.substr(begin, at - begin);
    if (const auto value = number(word)) {
      gpu_at(progress, count++).errors = *value;
    } else if (count > 0 && word.starts_with("(DIED")) {
      // The count beside it is what happened to be in memory.
      progress.gpus[count - 1].died = true;
      progress.gpus[count - 1].errors = 0;
      progress.gpus[count - 1].gflops.reset();
    }
  }
}

// " 50 C - 45 C", "-- C" where unknown
void read_temperatures(std::string_view text, BurnProgress& progress) {
  const Fields words(text);
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i + 1] != "C") continue;
    if (count < progress.gpus.size()) {
      const auto value = number(words[i]);
      auto& known = progress.gpus[count].celsius;
      if (value && (!known || *value > *known)) known = value;
    }
    ++count;
  }
}

void read_snapshot(std::string_view text, BurnProgress& progress) {
  const std::size_t errors = text.find("errors:");
  const std::size_t temperatures = text.find("temps:");
  read_rates(text.substr(0, std::min(errors, temperatures)), progress);
  if (errors != std::string_view::npos)
    read_errors(
        text.substr(errors + 7, temperatures == std::string_view::npos ? temperatures : temperatures - errors - 7),
        progress);
  if (temperatures != std::string_view::npos) read_temperatures(text.substr(temperatures + 6), progress);
  ++progress.snapshots;
}

}  // namespace

bool read_burn_progress(std::string_view line, BurnProgress& progress) {
  std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return false;
  std::string_view before = line.substr(0, at);
  while (at != std::string_view::npos) {
    const std::size_t begin = at + mark.size();
    const std::size_t next = line.find(mark, begin);
    const Fields words(before);
    if (words.size() > 0) {
      std::string_view percent = words[words.size() - 1];
      while (!percent.empty() && (percent.front() == '"' || percent.front() == '\'')) percent.remove_prefix(1);
      if (percent.ends_with('%'))
        progress.percent = number(percent.substr(0, percent.size() - 1)).value_or(progress.percent);
    }
    const std::string_view text = line.substr(begin, next == std::string_view::npos ? next : next - begin);
    read_snapshot(text, progress);
    before = text;
    at = next;
  }
  return true;
}

}  // namespace claimcheck::importing

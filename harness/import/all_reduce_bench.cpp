// all_reduce_bench.py of ml-engineering: a table of Markdown with the unit in each cell, bus bandwidth before algorithm
// bandwidth; the order is the header's. GBps is 1e9 bytes a second, payloads are powers of 1024.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/nccl_run.h"

namespace claimcheck::importing {
namespace {

// "| 32KiB | 1.44GBps |" without the bars; empty when it is no row of a table.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::string_view text = trimmed(line);
  if (!text.starts_with('|')) return cells;
  text.remove_prefix(1);
  while (!text.empty() && cells.size() < 16) {
    const std::size_t bar = text.find('|');
    cells.push_back(trimmed(text.substr(0, bar)));
    if (bar == std::string_view::npos) break;
    text.remove_prefix(bar + 1);
  }
  return cells;
}

// GB/s of "482.26GBps", "3858.1Gbps", "512.0 MB/s".
std::optional<double> gbps(std::string_view cell) {
  const auto found = quantity(cell);
  if (!found) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 8> units = {{{"GBps", 1},
                                                                         {"GB/s", 1},
                                                                         {"Gbps", 0.125},
                                                                         {"Gb/s", 0.125},
                                                                         {"MBps", 1e-3},
                                                                         {"MB/s", 1e-3},
                                                                         {"TBps", 1e3},
                                                                         {"", 1}}};
  for (const auto& [name, factor] : units)
    if (found->unit == name) return found->value * factor;
  return std::nullopt;
}

class AllReduceBench : public Reader {
 public:
  explicit AllReduceBench(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    const std::string_view text = trimmed(line.text);
    if (text.empty()) return false;
    if (text.front() == '|') return table_line(text, line.number);
    return heading(text) || single(text, line.number);
  }

  void end(bool whole) override {
    if (!whole) collected_.partial("the last line has no end: the file may be cut short");
    finish();
  }

 private:
  bool table_line(std::string_view text, std::size_t number) {
    const auto cells = cells_of(text);
    const bool header = std::find(cells.begin(), cells.end(), "payload") != cells.end() &&
                        std::find(cells.begin(), cells.end(), "busbw") != cells.end();
    if (header) {
      finish();
      begin();
      columns_.assign(cells.begin(), cells.end());
      return true;
    }
    if (columns_.empty()) return false;
    if (std::all_of(text.begin(), text.end(), [](char c) { return contains("|-: ", std::string_view(&c, 1)); }))
      return true;
    std::optional<double> bytes, busbw, algbw;
    for (std::size_t i = 0; i < std::min(cells.size(), columns_.size()); ++i) {
      if (columns_[i] == "payload") bytes = binary_bytes(cells[i]);
      if (columns_[i] == "busbw") busbw = gbps(cells[i]);
      if (columns_[i] == "algbw") algbw = gbps(cells[i]);
    }
    return take(bytes, busbw, algbw, number);
  }

  bool take(std::optional<double> bytes, std::optional<double> busbw, std::optional<double> algbw, std::size_t number) {
    if (!bytes || !busbw) return false;
    NcclRow row;
    row.bytes = *bytes;
    row.two_halves = false;
    row.out.busbw = busbw;
    row.out.algbw = algbw;
    // The table has no time; it follows from size and algorithm bandwidth.
    if (algbw && *algbw > 0) row.out.time_us = *bytes / *algbw / 1e3;
    run_.row(row, true, number);
    any_ = true;
    return true;
  }

  bool heading(std::string_view text) {
    if (contains(text, "all_reduce_bench")) return true;
    if (contains(text, "average bandwidth of all_reduce")) {
      finish();
      begin();
      const Fields words(text);
      for (std::size_t i = 1; i < words.size(); ++i)
        if (words[i].starts_with("ranks"))
          if (const auto ranks = importing::number(words[i - 1])) said_ranks_ = static_cast<int>(*ranks);
      if (const auto rest = after(text, "with a ")) {
        const Fields payload(*rest);
        if (payload.size() > 0) payload_ = binary_bytes(payload[0]);
      }
      return true;
    }
    return text == "Environment:" || text.starts_with("- software:") || text.starts_with("- hardware:");
  }

  // Old versions measure one size: " algbw: 120.05 GBps (960.4 Gbps)", " busbw: ..."
  bool single(std::string_view text, std::size_t number) {
    if (!payload_) return false;
    for (const bool bus : {true, false}) {
      const auto rest = after(text, bus ? "busbw:" : "algbw:");
      if (!rest) continue;
      const Fields words(*rest);
      if (words.size() < 2) return false;
      const auto value = gbps(std::string(words[0]) + std::string(words[1]));
      (bus ? single_bus_ : single_alg_) = value;
      if (single_bus_ && single_alg_) {
        take(payload_, std::exchange(single_bus_, std::nullopt), std::exchange(single_alg_, std::nullopt), number);
        payload_.reset();
      }
      return value.has_value();
    }
    return false;
  }

  void begin() {
    run_ = NcclRun();
    run_.collective("all_reduce");
    run_.method("all_reduce_bench.py");
  }

  void finish() {
    if (any_) {
      run_.header();
      run_.trailer();  // the table is printed at once: what is here is all
      const auto ranks = collected_.said().ranks ? collected_.said().ranks : said_ranks_;
      run_.report(collected_, ranks, collected_.said().nodes);
      collected_.note("PyTorch's all-reduce, mean over the trials; results were not checked");
    }
    any_ = false;
    columns_.clear();
  }

  Collected& collected_;
  NcclRun run_;
  std::vector<std::string> columns_;
  std::optional<int> said_ranks_;
  std::optional<double> payload_, single_bus_, single_alg_;
  bool any_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_all_reduce_bench(Collected& collected) {
  return std::make_unique<AllReduceBench>(collected);
}

}  // namespace claimcheck::importing

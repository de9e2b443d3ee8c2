#include "harness/import/smi_topology.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/import/fields.h"
#include "harness/import/smi_links.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 7> status_words = {"OK", "NS", "CNS", "GNS", "TNS", "U", "DR"};
constexpr std::array<std::string_view, 7> path_words = {"PIX", "PXB", "PHB", "NODE",
                                                        "SYS", "SOC", "C2C"};  // near to far

bool is_status_word(std::string_view cell) {
  return std::find(status_words.begin(), status_words.end(), cell) != status_words.end();
}

// 12 of "NV12", else 0.
int nvlinks(std::string_view cell) {
  if (!cell.starts_with("NV")) return 0;
  return static_cast<int>(number(cell.substr(2)).value_or(0));
}

bool is_cell(std::string_view word) {
  return word == "X" || nvlinks(word) > 0 || is_status_word(word) ||
         std::find(path_words.begin(), path_words.end(), word) != path_words.end();
}

int gpu_number(std::string_view word) {
  if (!word.starts_with("GPU") || word.size() < 4 || word.size() > 6) return -1;
  return static_cast<int>(number(word.substr(3)).value_or(-1));
}

bool is_adapter(std::string_view word) {
  for (const char* start : {"NIC", "mlx", "irdma", "efa", "rdmap", "bnxt", "ibp", "hfi", "roce"})
    if (word.starts_with(start)) return true;
  return false;
}

std::string numbers(const std::vector<int>& gpus) { return fmt::format("{}", fmt::join(gpus, ", ")); }

}  // namespace

bool SmiTopology::line(std::string_view text) {
  if (heading(text)) return true;
  if (columns_.empty()) return false;
  if (trimmed(text).empty()) return true;
  return row(text) || legend(text);
}

// The columns: "GPU0 GPU1 ... NIC0 ... CPU Affinity NUMA Affinity GPU NUMA ID".
bool SmiTopology::heading(std::string_view text) {
  const Fields words(text);
  if (words.size() < 1 || gpu_number(words[0]) != 0) return false;
  const bool alone = words.size() == 1 || words[1] == "CPU" || gpu_number(words[1]) == 1 || is_adapter(words[1]);
  if (!alone || (words.size() == 1 && text.front() != ' ' && text.front() != '\t')) return false;
  finish();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (gpu_number(words[i]) < 0 && !is_adapter(words[i])) break;
    columns_.emplace_back(words[i]);
  }
  in_legend_ = false;
  return true;
}

bool SmiTopology::row(std::string_view text) {
  const Fields words(text);
  const bool adapter = words.size() > 1 && is_adapter(words[0]) && is_cell(words[1]);
  const int gpu = words.size() > 0 ? gpu_number(words[0]) : -1;
  if (!adapter && (gpu < 0 || words.size() < 2 || !is_cell(words[1]))) return false;
  Row cells;
  std::size_t at = 1;
  while (at < words.size() && cells.size() < columns_.size() && is_cell(words[at])) cells.emplace_back(words[at++]);
  if (cells.size() < columns_.size()) cut_ = true;
  if (adapter) return true;
  for (; at < words.size(); ++at) affinity_[gpu].emplace_back(words[at]);
  rows_[gpu] = std::move(cells);
  return true;
}

bool SmiTopology::legend(std::string_view text) {
  const std::string_view rest = trimmed(text);
  if (rest == "Legend:" || rest == "NIC Legend:") return in_legend_ = true;
  if (!in_legend_) return false;
  // "NIC0: mlx5_0"
  if (const std::size_t colon = rest.find(": "); rest.starts_with("NIC") && colon != std::string_view::npos) {
    adapters_[std::string(rest.substr(0, colon))] = trimmed(rest.substr(colon + 2));
    return true;
  }
  const Fields words(rest);
  return words.size() > 2 && words[1] == "=" && (is_cell(words[0]) || words[0] == "NV#");
}

void SmiTopology::end() { finish(); }

bool SmiTopology::is_status() const {
  for (const auto& [gpu, cells] : rows_)
    for (const std::string& cell : cells)
      if (cell != "X") return is_status_word(cell);
  return false;
}

// The place of GPU n among the columns.
std::vector<int> SmiTopology::gpu_columns() const {
  std::vector<int> places;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (gpu_number(columns_[i]) >= 0) places.push_back(static_cast<int>(i));
  return places;
}

void SmiTopology::finish() {
  if (columns_.empty()) return;
  const std::vector<int> columns = gpu_columns();
  if (rows_.size() < columns.size())
    collected_.partial(
        fmt::format("the matrix of topology has {} GPUs, and rows for {} of them", columns.size(), rows_.size()));
  else if (cut_)
    collected_.partial("a row of the matrix of topology ends early");
  if (is_status()) {
    status(columns);
  } else if (!rows_.empty()) {
    gpus_.begin_document();
    paths(columns);
  }
  columns_.clear();
  rows_.clear();
  affinity_.clear();
  adapters_.clear();
  cut_ = false;
}

void SmiTopology::status(const std::vector<int>& columns) {
  std::string reach, not_reach;
  for (const auto& [gpu, cells] : rows_) {
    json row = json::array();
    for (std::size_t to = 0; to < columns.size(); ++to) {
      const auto place = static_cast<std::size_t>(columns[to]);
      const std::string cell = place < cells.size() ? cells[place] : "U";
      row.push_back(cell == "X" || cell == "OK" ? json(1) : cell == "U" ? json(nullptr) : json(0));
      if (cell == "X" || cell == "U" || static_cast<int>(to) < gpu) continue;
      std::string& list = cell == "OK" ? reach : not_reach;
      if (list.size() < 400)
        list += fmt::format("{}{}-{}{}", list.empty() ? "" : ", ", gpu, to, cell == "OK" ? "" : " (" + cell + ")");
    }
    collected_.system(fmt::format("/software/worker/gpu{}_peer_access_to", gpu), row);
  }
  const std::string text = fmt::format(
      "This matrix says which GPUs may reach each other's memory (topo -p2p), not by which way: "
      "pairs that may: {}; pairs that may not: {}.",
      reach.empty() ? "none" : reach, not_reach.empty() ? "none" : not_reach);
  collected_.add(Finding{.id = "topology.peer_access",
                         .severity = not_reach.empty() ? "info" : "warning",
                         .text = text,
                         .next_step = not_reach.empty()
                                          ? ""
                                          : "Copies between the others go by way of the host. ACS, the IOMMU or a "
                                            "virtual machine may be in the way; many cards are sold without.",
                         .evidence = {{"may", reach}, {"may_not", not_reach}}});
}

// Links of a GPU in all: through switches each peer shows all of them, without switches each shows its own.
int SmiTopology::links_of(const std::vector<int>& columns, int gpu) const {
  int total = 0, most = 0, peers = 0;
  for (const int place : columns) {
    const Row& cells = rows_.at(gpu);
    if (static_cast<std::size_t>(place) >= cells.size()) continue;
    const int links = nvlinks(cells[static_cast<std::size_t>(place)]);
    total += links;
    if (links > 0) ++peers;
    most = std::max(most, links);
  }
  // No product wires 8 links or more to each of several peers.
  return total > most_nvlinks || (peers > 1 && most >= 8) ? most : total;
}

void SmiTopology::paths(const std::vector<int>& columns) {
  std::map<int, int> links;
  for (const auto& [gpu, cells] : rows_) {
    links[gpu] = links_of(columns, gpu);
    SmiGpu& entry = gpus_.at_index(gpu);
    if (columns.size() > 1 || links[gpu] > 0) entry.facts["nvlink_links_active"] = links[gpu];
    // 5 to 17 links of 25 GB/s: those of 20 (Pascal) come in fours, those of 50 (Blackwell) in eighteens.
    if (links[gpu] >= 5 && links[gpu] < most_nvlinks) entry.facts["nvlink_link_gbps"] = 25;
    std::vector<std::string> between, counts;
    for (const int place : columns) {
      const std::string cell =
          static_cast<std::size_t>(place) < cells.size() ? cells[static_cast<std::size_t>(place)] : "?";
      between.push_back(cell);
      counts.push_back(cell == "X" ? "0" : std::to_string(nvlinks(cell)));
    }
    json numbers_of_links = json::array();
    for (const std::string& count : counts) numbers_of_links.push_back(number(count).value_or(0));
    collected_.system(fmt::format("/software/worker/gpu{}_path_to", gpu), fmt::format("{}", fmt::join(between, " ")));
    collected_.system(fmt::format("/software/worker/gpu{}_nvlinks_to", gpu), numbers_of_links);
    const auto& rest = affinity_[gpu];
    if (!rest.empty() && rest[0] != "N/A") entry.facts["cpu_affinity"] = rest[0];
    if (rest.size() > 1)
      if (const auto node = number(rest[1])) entry.facts["numa_node"] = *node;
    nearest_adapters(gpu, cells);
  }
  // Columns are all there is, rows what of it is in the file.
  for (const int place : columns) {
    const int gpu = gpu_number(columns_[static_cast<std::size_t>(place)]);
    if (rows_.count(gpu) == 0) collected_.device(gpu, json::object());
  }
  if (columns.size() > 1) groups(columns, links);
}

void SmiTopology::nearest_adapters(int gpu, const Row& cells) {
  std::size_t best = path_words.size();
  std::string names;
  for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i) {
    if (!is_adapter(columns_[i])) continue;
    const auto rank =
        static_cast<std::size_t>(std::find(path_words.begin(), path_words.end(), cells[i]) - path_words.begin());
    if (rank >= path_words.size() || rank > best) continue;
    if (rank < best) names.clear();
    best = rank;
    const auto known = adapters_.find(columns_[i]);
    names += (names.empty() ? "" : ",") + (known == adapters_.end() ? columns_[i] : known->second);
  }
  if (names.empty()) return;
  collected_.system(fmt::format("/software/worker/gpu{}_nearest_nics", gpu), names);
  collected_.system(fmt::format("/software/worker/gpu{}_nearest_nics_path", gpu), std::string(path_words[best]));
}

// GPUs joined by NVLink, directly or through others.
void SmiTopology::groups(const std::vector<int>& columns, const std::map<int, int>& links) {
  std::vector<std::vector<int>> found;
  std::set<int> done;
  std::set<std::string> ways;
  bool whole = true;
  for (const auto& [gpu, cells] : rows_) {
    for (const int place : columns)
      if (static_cast<std::size_t>(place) < cells.size() && cells[static_cast<std::size_t>(place)] != "X" &&
          nvlinks(cells[static_cast<std::size_t>(place)]) == 0) {
        ways.insert(cells[static_cast<std::size_t>(place)]);
        whole = false;
      }
    if (done.contains(gpu)) continue;
    std::vector<int> group = {gpu};
    done.insert(gpu);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto row = rows_.find(group[i]);
      if (row == rows_.end()) continue;
      for (std::size_t to = 0; to < columns.size(); ++to) {
        const auto place = static_cast<std::size_t>(columns[to]);
        if (place >= row->second.size() || nvlinks(row->second[place]) == 0) continue;
        if (done.insert(static_cast<int>(to)).second) group.push_back(static_cast<int>(to));
      }
    }
    std::sort(group.begin(), group.end());
    found.push_back(group);
  }
  const bool any = std::any_of(links.begin(), links.end(), [](const auto& one) { return one.second > 0; });
  const json evidence = {{"groups", found}, {"other_ways", ways}};
  if (!any) {
    collected_.add(
        Finding{.id = "topology.no_nvlink",
                .severity = "info",
                .text = fmt::format("No GPU is joined to another by NVLink: they reach each other over PCIe ({}).",
                                    fmt::join(ways, ", ")),
                .next_step = "A claim of NVLink is not met; predict collectives with the rate of PCIe and the host.",
                .evidence = evidence});
  } else if (!whole) {
    std::string text;
    for (const auto& group : found) text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", numbers(group));
    collected_.add(Finding{
        .id = "topology.nvlink_groups",
        .severity = "info",
        .text = fmt::format(
            "NVLink joins these GPUs, not all to all: {}. Between others traffic takes {}: a collective over more "
            "than a group runs at the rate of PCIe, and that is no defect.",
            text, fmt::join(ways, ", ")),
        .next_step = "Measure within a group and over all; place a job of a group's size within one.",
        .evidence = evidence});
  } else {
    int fewest = links.begin()->second;
    for (const auto& [gpu, count] : links) fewest = std::min(fewest, count);
    collected_.note(fmt::format(
        "all {} GPUs are joined by NVLink, {} links each; GPUs of other machines in the same NVLink domain do "
        "not show here",
        links.size(), fewest));
  }
}

}  // namespace claimcheck::importing

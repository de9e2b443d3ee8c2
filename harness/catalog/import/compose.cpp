#include "harness/catalog/import/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "harness/catalog/csv.h"
#include "harness/result/json_text.h"

namespace claimcheck::catalog_import {
namespace {

// In this order where a file is new; a file that is there keeps its own and gets what it lacks.
constexpr std::array<std::string_view, 16> columns = {
    "instance", "region",     "term",        "payment",           "per_hour", "per_month", "currency", "unit",
    "as_of",    "confidence", "accelerator", "accelerator_count", "outlier",  "unusable",  "note",     "source"};

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

void add_line(std::string& text, const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    text += quoted(cells[i]);
  }
  text += '\n';
}

std::string cell_of(const Price& price, std::string_view column) {
  if (column == "instance") return price.instance;
  if (column == "region") return price.region;
  if (column == "term") return price.term;
  if (column == "payment") return price.payment;
  if (column == "per_hour") return price.per_hour ? fmt::format("{}", *price.per_hour) : "";
  if (column == "currency") return price.currency;
  if (column == "unit") return price.unit;
  if (column == "as_of") return price.as_of.empty() ? "undated" : price.as_of;
  if (column == "confidence") return price.confidence;
  if (column == "accelerator") return price.accelerator;
  if (column == "accelerator_count") return price.accelerator_count ? std::to_string(*price.accelerator_count) : "";
  if (column == "note") return price.note;
  if (column == "source") return price.sources.front();
  return "";
}

// The new lines of one provider behind its old ones.
std::string price_file(const std::string& old, const std::vector<const Price*>& added,
                       const std::set<std::size_t>& gone) {
  const std::vector<CsvRow> rows = read_csv(old);
  std::vector<std::string> header;
  if (!rows.empty()) header = rows.front().cells;
  const bool is_new = header.empty();
  for (const std::string_view column : columns) {
    const bool used = is_new || std::any_of(added.begin(), added.end(),
                                            [&](const Price* price) { return !cell_of(*price, column).empty(); });
    if (used && std::find(header.begin(), header.end(), column) == header.end()) header.emplace_back(column);
  }
  std::string text;
  add_line(text, header);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (gone.count(rows[i].line) > 0) continue;
    std::vector<std::string> cells = rows[i].cells;
    cells.resize(header.size());
    add_line(text, cells);
  }
  for (const Price* price : added) {
    std::vector<std::string> cells;
    for (const std::string& column : header) cells.push_back(cell_of(*price, column));
    add_line(text, cells);
  }
  return text;
}

nlohmann::ordered_json source_record(const Feed& feed) {
  nlohmann::ordered_json record = {{"id", source_id(feed)},
                                   {"title", fmt::format("{}, {}, as imported", feed.title, feed.provider)},
                                   {"date", nullptr}};
  if (feed.as_of.empty()) {
    record["undated"] = true;
  } else {
    record["date"] = feed.as_of;
  }
  record["licence"] = feed.licence.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(feed.licence);
  record["kind"] = "price";
  return record;
}

// A record more at the end of the list; the rest of the text stays as it is, one record a line.
std::string with_sources(const std::string& old, const std::vector<const Feed*>& feeds) {
  nlohmann::ordered_json wanted = nlohmann::ordered_json::parse(old);
  std::string lines;
  for (const Feed* feed : feeds) {
    const nlohmann::ordered_json record = source_record(*feed);
    wanted["sources"].push_back(record);
    lines += ",\n    " + record.dump();
  }
  std::string text = old;
  const std::size_t end = text.rfind(']');
  const std::size_t last = end == std::string::npos ? end : text.find_last_not_of(" \t\r\n", end - 1);
  if (last != std::string::npos && text[last] == '}') text.insert(last + 1, lines);
  if (nlohmann::ordered_json::parse(text, nullptr, false) == wanted) return text;
  return wanted.dump(2) + "\n";  // the list is not at the end, or empty
}

CatalogFile& file_at(std::vector<CatalogFile>& files, const std::string& path) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const CatalogFile& f) { return f.path == path; });
  if (found != files.end()) return *found;
  files.push_back({path, ""});
  return files.back();
}

}  // namespace

std::vector<std::string> compose(std::vector<CatalogFile>& files, const Merged& merged,
                                 const std::vector<Feed>& feeds) {
  std::map<std::string, std::vector<const Price*>> added;  // by path, in order
  std::map<std::string, std::set<std::size_t>> gone;
  std::set<std::string> used;
  for (const auto* list : {&merged.added, &merged.changed, &merged.confirmed, &merged.replaced}) {
    for (const Joined& joined : *list) {
      added["prices/" + joined.price.provider + ".csv"].push_back(&joined.price);
      used.insert(joined.price.sources.front());
    }
  }
  for (const std::string& place : merged.gone) {
    const std::size_t colon = place.rfind(':');
    gone[place.substr(0, colon)].insert(std::stoul(place.substr(colon + 1)));
  }
  std::vector<std::string> changed;
  std::map<std::string, const Feed*> new_sources;
  CatalogFile& sources = file_at(files, "sources.json");
  const nlohmann::json known = parse_json(sources.text, sources.path);
  for (const Feed& feed : feeds) {
    const std::string id = source_id(feed);
    const bool is_known = std::any_of(known.at("sources").begin(), known.at("sources").end(),
                                      [&](const nlohmann::json& source) { return source.value("id", "") == id; });
    if (used.count(id) > 0 && !is_known) new_sources[id] = &feed;
  }
  if (!new_sources.empty()) {
    std::vector<const Feed*> records;
    for (const auto& [id, feed] : new_sources) records.push_back(feed);
    sources.text = with_sources(sources.text, records);
    changed.push_back(sources.path);
  }
  for (auto& [path, prices] : added) {
    std::stable_sort(prices.begin(), prices.end(), [](const Price* a, const Price* b) {
      return std::tie(a->instance, a->term, a->payment, a->region, a->as_of, a->sources) <
             std::tie(b->instance, b->term, b->payment, b->region, b->as_of, b->sources);
    });
    CatalogFile& file = file_at(files, path);
    file.text = price_file(file.text, prices, gone[path]);
    changed.push_back(path);
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return changed;
}

}  // namespace claimcheck::catalog_import

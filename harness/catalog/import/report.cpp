// What an import did, for programs and for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/catalog/import/import.h"
#include "harness/cost/money.h"
#include "harness/cost/price.h"
#include "harness/report/layout.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

using catalog_import::Collected;
using catalog_import::Joined;
using catalog_import::Place;
using nlohmann::json;

constexpr std::size_t first_rows = 10;
constexpr std::size_t first_places = 3;

json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json price_json(const Price& price, const std::string& today) {
  const auto age = days_between(price.as_of, today);
  return {{"per_hour", price.per_hour ? json(*price.per_hour) : json(nullptr)},
          {"currency", price.currency},
          {"unit", price.unit},
          {"as_of", or_null(price.as_of)},
          {"age_days", age ? json(std::max(*age, 0)) : json(nullptr)},
          {"source", price.sources}};
}

json rows_json(const std::vector<Joined>& rows, const Collected& collected, const std::string& today) {
  json list = json::array();
  for (const Joined& row : rows) {
    const Price& price = row.price;
    json one = {{"provider", price.provider},
                {"instance", price.instance},
                {"region", or_null(price.region)},
                {"term", price.term},
                {"payment", or_null(price.payment)},
                {"price", price_json(price, today)},
                {"before", row.before ? price_json(*row.before, today) : json(nullptr)},
                {"note", or_null(price.note)},
                {"file", collected.files[row.place.file]},
                {"line", row.place.line}};
    if (!row.why.empty()) one["reason"] = row.why;
    list.push_back(std::move(one));
  }
  return list;
}

// Refused rows by reason, most first.
std::vector<std::pair<std::string, std::vector<const catalog_import::RefusedRow*>>> by_reason(
    const Collected& collected) {
  std::map<std::string, std::vector<const catalog_import::RefusedRow*>> rows;
  for (const auto& row : collected.refused) rows[collected.reasons[row.reason]].push_back(&row);
  std::vector<std::pair<std::string, std::vector<const catalog_import::RefusedRow*>>> list(rows.begin(), rows.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return list;
}

std::string place_text(const Collected& collected, const Place& place) {
  return fmt::format("{}:{}", collected.files[place.file], place.line);
}

std::string count_text(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string date_text(const Price& price) { return price.as_of.empty() ? "undated" : price.as_of; }

std::string machine_text(const Price& price) {
  return fmt::format("{}:{} {} {}{}{}", price.provider, price.instance, price.region, price.term,
                     price.payment.empty() ? "" : " ", price.payment);
}

std::string amount_text_of(const Price& price) {
  return fmt::format("{}/{}", price_text(*price.per_hour, price.currency), price.unit);
}

std::string joined_text(const Joined& row) {
  const Price& price = row.price;
  std::string text = machine_text(price) + ": ";
  if (row.before) {
    text += fmt::format("{} ({}, {}) -> ", amount_text_of(*row.before), date_text(*row.before),
                        row.before->sources.empty() ? "" : row.before->sources.front());
  }
  return text + fmt::format("{} ({}, {})", amount_text_of(price), date_text(price), price.sources.front());
}

class Text {
 public:
  Text(const ImportedPrices& imported, std::size_t width, bool colour)
      : collected_(imported.collected), width_(width), colour_(colour) {}

  void section(const char* heading, const std::vector<Joined>& rows, const char* meaning, std::size_t shown) {
    if (rows.empty()) return;
    head(heading, rows.size(), meaning, Colour::none);
    for (std::size_t i = 0; i < std::min(shown, rows.size()); ++i) {
      const Joined& row = rows[i];
      line(4, joined_text(row) + (row.why.empty() ? "" : "; " + row.why));
    }
    more(rows.size(), shown);
  }

  void kept(const std::vector<Joined>& rows) {
    if (rows.empty()) return;
    head("kept", rows.size(), "the catalog's own price stays", Colour::none);
    std::map<std::string, std::vector<const Joined*>> reasons;
    for (const Joined& row : rows) reasons[row.why].push_back(&row);
    for (const auto& [why, list] : reasons) {
      line(4, fmt::format("{}: {}", list.size(), why));
      if (why == "the catalog has this price") continue;
      for (std::size_t i = 0; i < std::min(first_places, list.size()); ++i) line(8, joined_text(*list[i]));
    }
  }

  void refused() {
    if (collected_.refused.empty()) return;
    head("refused", collected_.refused.size(), "no price to be trusted", Colour::bad);
    for (const auto& [reason, rows] : by_reason(collected_)) {
      line(4, fmt::format("{}: {}", rows.size(), reason));
      for (std::size_t i = 0; i < std::min(first_places, rows.size()); ++i) {
        line(8, fmt::format("{}: {}", place_text(collected_, rows[i]->place), rows[i]->offer));
      }
    }
  }

  void left_out() {
    std::size_t all = 0;
    for (const auto& [reason, entry] : collected_.left_out) all += entry.rows;
    if (all == 0) return;
    head("left out", all, "nothing for this catalog", Colour::none);
    for (const auto& [reason, entry] : collected_.left_out) {
      line(4, fmt::format("{}: {} (first {})", entry.rows, reason, place_text(collected_, entry.first.front())));
    }
  }

  void line(std::size_t indent, const std::string& text) {
    constexpr std::size_t hang = 2;
    std::size_t at = indent;
    for (const std::string& part : wrapped(sanitised_text(text), width_ - indent - hang)) {
      text_ += std::string(at, ' ') + part + "\n";
      at = indent + hang;
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void head(const char* heading, std::size_t count, const char* meaning, Colour tone) {
    text_ += fmt::format("{} {} ({})\n", count, paint(heading, tone, colour_), meaning);
  }
  void more(std::size_t all, std::size_t shown) {
    if (shown > 0 && all > shown) line(4, fmt::format("... and {} more (--json lists all)", all - shown));
  }

  const Collected& collected_;
  std::size_t width_;
  bool colour_;
  std::string text_;
};

bool any_undated(const Collected& collected) {
  return std::any_of(collected.feeds.begin(), collected.feeds.end(),
                     [](const catalog_import::Feed& feed) { return feed.as_of.empty(); });
}

}  // namespace

json import_json(const ImportedPrices& imported, const ImportOptions& options, const std::string& written) {
  const Collected& collected = imported.collected;
  json document = {{"schema_version", "1.0"},          {"kind", "catalog.import"},        {"date", options.today},
                   {"files", collected.files},         {"prices_read", collected.offers}, {"written", or_null(written)},
                   {"changed_files", imported.changed}};
  document["lists"] = json::array();
  for (const catalog_import::Feed& feed : collected.feeds) {
    document["lists"].push_back({{"source", catalog_import::source_id(feed)},
                                 {"format", feed.format},
                                 {"provider", feed.provider},
                                 {"as_of", or_null(feed.as_of)}});
  }
  const auto& merged = imported.merged;
  for (const auto& [key, rows] : {std::pair{"added", &merged.added}, std::pair{"changed", &merged.changed},
                                  std::pair{"confirmed", &merged.confirmed}, std::pair{"replaced", &merged.replaced},
                                  std::pair{"kept", &merged.kept}}) {
    document[key] = rows_json(*rows, collected, options.today);
  }
  document["refused"] = json::array();
  for (const auto& [reason, rows] : by_reason(collected)) {
    json one = {{"reason", reason}, {"count", rows.size()}, {"rows", json::array()}};
    for (const auto* row : rows) {
      one["rows"].push_back(
          {{"file", collected.files[row->place.file]}, {"line", row->place.line}, {"offer", row->offer}});
    }
    document["refused"].push_back(std::move(one));
  }
  document["left_out"] = json::array();
  for (const auto& [reason, entry] : collected.left_out) {
    json one = {{"reason", reason}, {"count", entry.rows}, {"first", json::array()}};
    for (const Place& place : entry.first) {
      one["first"].push_back({{"file", collected.files[place.file]}, {"line", place.line}});
    }
    document["left_out"].push_back(std::move(one));
  }
  return document;
}

std::string import_text(const ImportedPrices& imported, const std::string& written, std::size_t width, bool colour) {
  const auto& merged = imported.merged;
  Text text(imported, width, colour);
  text.line(0, fmt::format("{} in {}", count_text(imported.collected.offers, "price", "prices"),
                           count_text(imported.collected.files.size(), "list", "lists")));
  text.section("added", merged.added, "the catalog had none", first_rows);
  text.section("changed", merged.changed, "newer than the catalog's, which stays as history", 2 * first_rows);
  text.section("confirmed", merged.confirmed, "newer, the same price", 0);
  text.section("replaced", merged.replaced, "--replace: the catalog's own goes", 2 * first_rows);
  text.kept(merged.kept);
  text.refused();
  text.left_out();
  if (any_undated(imported.collected)) {
    text.line(0, "A list has no date inside, so its prices are undated: --as-of YYYY-MM-DD says of which day it is.");
  }
  if (!written.empty()) {
    text.line(0, imported.changed.empty()
                     ? fmt::format("nothing new for {}", written)
                     : fmt::format("written: {}; `claimcheck --catalog {} cost` reads it", written, written));
  } else {
    text.line(0, "nothing is written; --into DIR makes a catalog of it");
  }
  return text.take();
}

}  // namespace claimcheck

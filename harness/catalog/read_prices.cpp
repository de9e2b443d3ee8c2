// Prices: one file a provider, which names the file.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "harness/catalog/csv.h"
#include "harness/catalog/parts.h"
#include "harness/nearest.h"

namespace claimcheck::catalog_parts {
namespace {

const Words& columns() {
  static const Words words = {"instance", "region", "term",       "per_hour",    "per_month",         "currency",
                              "unit",     "as_of",  "confidence", "accelerator", "accelerator_count", "outlier",
                              "unusable", "note",   "source",     "payment"};
  return words;
}
const Words& needed() {
  static const Words words = {"instance", "term", "per_hour", "currency", "unit", "as_of", "source"};
  return words;
}

// The cells of one line by the name of their column.
class PriceLine {
 public:
  PriceLine(const std::string& file, const std::vector<std::string>& header, const CsvRow& row)
      : file_(file), header_(header), row_(row) {
    if (row.cells.size() != header.size()) {
      fail(fmt::format("{} cells; expected {}, one a column of the header", row.cells.size(), header.size()));
    }
  }

  [[noreturn]] void fail(const std::string& text) const {
    throw CatalogError(file_, fmt::format("line {}", row_.line), text);
  }

  std::string cell(std::string_view column) const {
    const auto found = std::find(header_.begin(), header_.end(), column);
    return found == header_.end() ? "" : row_.cells[static_cast<std::size_t>(found - header_.begin())];
  }

  std::string text(std::string_view column) const {
    std::string value = cell(column);
    if (value.empty()) fail(fmt::format("{} is empty; expected a text", column));
    return value;
  }

  std::string word(std::string_view column, const Words& words) const {
    std::string value = text(column);
    if (const auto error = not_one_of(value, words)) fail(fmt::format("{}: {}", column, *error));
    return value;
  }

  std::optional<double> number(std::string_view column) const {
    const std::string value = cell(column);
    if (value.empty()) return std::nullopt;
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number) || number <= 0) {
      fail(fmt::format("{} is \"{}\"; expected a finite number above 0, or nothing when unknown", column, value));
    }
    return number;
  }

 private:
  const std::string& file_;
  const std::vector<std::string>& header_;
  const CsvRow& row_;
};

std::string price_date(const PriceLine& line) {
  std::string date = line.cell("as_of");
  if (date == "undated") return "";
  if (date.empty()) line.fail("no date; expected one in as_of, or the word undated for a snapshot without a date");
  if (!is_date(date)) {
    line.fail(fmt::format("as_of is \"{}\"; expected YYYY-MM-DD, YYYY-MM, YYYY or the word undated", date));
  }
  return date;
}

std::string currency_code(const PriceLine& line) {
  std::string code = line.text("currency");
  const bool upper = std::all_of(code.begin(), code.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (code.size() != 3 || !upper) line.fail(fmt::format("currency is \"{}\"; expected an ISO code such as USD", code));
  return code;
}

Price read_price(const PriceLine& line, const std::string& provider) {
  Price price;
  price.provider = provider;
  price.instance = line.text("instance");
  price.region = line.cell("region");
  price.term = line.word("term", {"on_demand", "spot", "reserved_1y", "reserved_3y", "monthly_prepaid"});
  if (!line.cell("payment").empty()) {
    price.payment = line.word("payment", {"no_upfront", "partial_upfront", "all_upfront"});
    if (!price.term.starts_with("reserved")) line.fail("payment: only a reserved term has one");
  }
  price.per_hour = line.number("per_hour");
  price.per_month = line.number("per_month");
  price.currency = currency_code(line);
  price.unit = line.word("unit", {"instance-hour", "gpu-hour", "chip-hour"});
  price.as_of = price_date(line);
  if (!line.cell("confidence").empty()) price.confidence = line.word("confidence", {"high", "medium", "low"});
  price.accelerator = line.cell("accelerator");
  if (const auto count = line.number("accelerator_count")) {
    if (*count != std::floor(*count) || *count > 1e6) line.fail("accelerator_count: expected a whole number");
    price.accelerator_count = static_cast<int>(*count);
  }
  price.outlier = line.cell("outlier");
  price.unusable = line.cell("unusable");
  price.note = line.cell("note");
  std::istringstream sources(line.cell("source"));
  for (std::string id; sources >> id;) price.sources.push_back(id);
  if (price.sources.empty()) line.fail("no source; expected at least one id of sources.json in source");
  return price;
}

void check_header(const std::string& file, const CsvRow& header) {
  const auto fail = [&](const std::string& text) {
    throw CatalogError(file, fmt::format("line {}", header.line), text);
  };
  for (std::size_t i = 0; i < header.cells.size(); ++i) {
    if (const auto error = not_one_of(header.cells[i], columns())) fail("column " + *error);
    if (std::find(header.cells.begin(), header.cells.begin() + static_cast<std::ptrdiff_t>(i), header.cells[i]) !=
        header.cells.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail(fmt::format("column \"{}\" twice", header.cells[i]));
    }
  }
  for (const std::string_view name : needed()) {
    if (std::find(header.cells.begin(), header.cells.end(), name) == header.cells.end()) {
      fail(fmt::format("no column \"{}\"", name));
    }
  }
}

}  // namespace

void read_prices(const CatalogFile& file, const Guard& guarded, std::vector<Price>& prices) {
  const std::string provider = std::filesystem::path(file.path).stem().string();
  std::vector<CsvRow> rows;
  bool readable = false;
  guarded([&] {
    try {
      rows = read_csv(file.text);
    } catch (const CsvError& error) {
      throw CatalogError(file.path, fmt::format("line {}", error.line()), error.what());
    }
    if (rows.empty()) throw CatalogError(file.path, "line 1", "no header; expected the names of the columns");
    check_header(file.path, rows.front());
    readable = true;
  });
  if (!readable) return;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    guarded([&] {
      prices.push_back(read_price(PriceLine(file.path, rows.front().cells, rows[i]), provider));
      prices.back().place = fmt::format("{}:{}", file.path, rows[i].line);
    });
  }
}

}  // namespace claimcheck::catalog_parts

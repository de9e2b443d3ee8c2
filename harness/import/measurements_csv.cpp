// Measurements as CSV, one a line: our own `claimcheck report --format csv`, and files that anybody writes with at
// least the columns metric, value and unit (docs/importing.md). A wrong line is refused with its number: such a file is
// made, not collected, so it can be mended.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/error.h"
#include "harness/import/fields.h"
#include "harness/import/format.h"
#include "harness/import/measured.h"
#include "harness/judge/unit.h"
#include "harness/nearest.h"
#include "harness/result/metrics.h"

namespace claimcheck::importing {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> needed = {"metric", "value", "unit"};
constexpr std::array<std::string_view, 9> statistics = {"min",     "max",     "cv",      "ci95_low", "ci95_high",
                                                        "samples", "devices", "started", "instance"};

class MeasurementsCsv : public Reader {
 public:
  explicit MeasurementsCsv(Collected& collected) : collected_(collected) {}

  bool line(const Line& line) override {
    // A quoted cell may hold line breaks.
    if (!open_.empty()) {
      open_ += '\n';
      open_ += line.text;
    } else {
      if (trimmed(line.text).empty() || line.text.front() == '#') return !columns_.empty() && !line.text.empty();
      open_ = line.text;
      begin_ = line.number;
    }
    if (std::count(open_.begin(), open_.end(), '"') % 2 != 0 && open_.size() < max_line_bytes) return !columns_.empty();
    const std::string row = std::exchange(open_, "");
    if (columns_.empty() && !contains(row, "metric")) return price_list(row);
    const auto cells = cells_of(row);
    return columns_.empty() ? header(cells, row) : take(cells);
  }

  void end(bool) override {
    if (!open_.empty()) fail("a quoted cell has no end");
    if (!columns_.empty() && count_ == 0) collected_.partial("a header and no measurement");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("{}:{}: {}", collected_.files().back().name, begin_, what));
  }

  static std::vector<std::string> cells_of(std::string_view row) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '"' && quoted && i + 1 < row.size() && row[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else if (row[i] == '"') {
        quoted = !quoted;
      } else if (row[i] == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += row[i];
      }
    }
    for (std::string& cell : cells) {
      cell = std::string(trimmed(cell));
      // Our own export puts one before what a spreadsheet would take for a formula.
      if (cell.size() > 1 && cell[0] == '\'' && std::string_view("=+-@").find(cell[1]) != std::string_view::npos)
        cell.erase(0, 1);
    }
    return cells;
  }

  bool price_list(std::string_view row) const {
    std::string words(row);
    std::transform(words.begin(), words.end(), words.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    // Of a header only: elsewhere "price" is a word like any other.
    if (begin_ != 1 || !contains(words, "price") || !contains(words, ",")) return false;
    fail(
        "a list of prices, not of measurements: `claimcheck catalog import` takes those it knows, and checks them "
        "(a price at or below 0, spot above on demand, a GPU for cents)");
  }

  bool header(const std::vector<std::string>& cells, std::string_view row) {
    const auto has = [&](std::string_view name) { return std::find(cells.begin(), cells.end(), name) != cells.end(); };
    if (!has("metric") || !contains(row, ",")) return false;
    for (const std::string_view name : needed)
      if (!has(name)) fail(fmt::format("no column \"{}\"; expected at least {}", name, fmt::join(needed, ", ")));
    for (const std::string& name : cells)
      if (std::count(cells.begin(), cells.end(), name) > 1) fail(fmt::format("two columns \"{}\"", name));
    columns_ = cells;
    return true;
  }

  bool take(const std::vector<std::string>& cells) {
    if (cells.size() != columns_.size())
      fail(fmt::format("{} cells, but the header has {} columns", cells.size(), columns_.size()));
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < cells.size(); ++i) row[columns_[i]] = cells[i];
    const Metric* metric = find_metric(row["metric"]);
    if (metric == nullptr) {
      const auto near = near_metrics(row["metric"], 1);
      fail(fmt::format("metric \"{}\" is unknown{}; `claimcheck explain` lists them", row["metric"],
                       near.empty() ? "" : ", nearest: " + near.front()));
    }
    Measurement made = measured(row["id"].empty() ? metric->key : row["id"], metric->key, metric->unit,
                                value_of(row, *metric), conditions(row), "no value");
    set_status(made, row);
    collected_.add(made);
    ++count_;
    return true;
  }

  std::optional<double> value_of(std::map<std::string, std::string>& row, const Metric& metric) const {
    const std::string& text = row["value"];
    if (text.empty() || text == "N/A" || text == "n/a") return std::nullopt;
    const auto value = importing::number(text);
    if (!value) fail(fmt::format("value \"{}\" is no number; expected one like 1234.5, without unit", text));
    if (row["unit"] == metric.unit) return value;
    const std::string_view unit = find_unit(row["unit"]);
    const auto converted = unit.empty() ? std::nullopt : convert(*value, unit, metric.unit);
    if (!converted)
      fail(fmt::format("unit \"{}\" does not fit {}; expected {}", row["unit"], metric.key,
                       fmt::join(units_like(metric.unit), ", ")));
    return converted;
  }

  json conditions(const std::map<std::string, std::string>& row) const {
    json made = json::object();
    for (const auto& [name, text] : row) {
      const bool known = name == "id" || name == "status" || name == "reason" || name == "virtual" ||
                         name == "estimate" || std::find(needed.begin(), needed.end(), name) != needed.end() ||
                         std::find(statistics.begin(), statistics.end(), name) != statistics.end();
      if (known || text.empty() || name.empty()) continue;
      const auto value = importing::number(text);
      made[name] = value ? json(*value) : json(text);
    }
    return made;
  }

  void set_status(Measurement& made, std::map<std::string, std::string>& row) const {
    made.is_virtual = row["virtual"] == "true";
    made.estimate = row["estimate"] == "true";
    const std::string& status = row["status"];
    if (status.empty()) return;
    const auto outcome = outcome_from(status);
    if (!outcome)
      fail(
          fmt::format("status \"{}\" is unknown; expected ok, wrong_result, unstable, unsupported, timed_out, crashed "
                      "or failed",
                      status));
    if (*outcome == Outcome::ok && !made.value) fail("status ok without a value");
    made.status = *outcome;
    made.reason = row["reason"];
    if (*outcome == Outcome::ok) return;
    if (made.reason.empty()) made.reason = "the file says " + status;
    made.value.reset();
  }

  Collected& collected_;
  std::vector<std::string> columns_;
  std::string open_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

std::unique_ptr<Reader> open_measurements_csv(Collected& collected) {
  return std::make_unique<MeasurementsCsv>(collected);
}

}  // namespace claimcheck::importing

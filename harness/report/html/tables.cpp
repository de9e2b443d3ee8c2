// Money, all measurements and the environment as tables.
#include <fmt/format.h>

#include <algorithm>

#include "harness/cost/list_price.h"
#include "harness/cost/money.h"
#include "harness/judge/machine.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/sections.h"
#include "harness/report/quantity.h"
#include "harness/result/metrics.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

std::string number_cell(const std::string& text) { return element("td", text, "class=\"number\""); }

std::string table(const std::vector<std::string>& headings, const std::string& body, const std::string& name) {
  std::string head;
  for (const std::string& heading : headings) head += element("th", heading, "scope=\"col\"");
  return wrapped_in("div",
                    wrapped_in("table", wrapped_in("thead", wrapped_in("tr", head)) + wrapped_in("tbody", body),
                               fmt::format("class=\"{}\"", name)),
                    "class=\"wide\"");
}

std::string cost_row(const json& row) {
  const std::string currency = text_at(row, "currency");
  const auto rate = number_at(row, "/per_eflop");
  const auto rank = number_at(row, "/rank");
  const auto useful = number_at(row, "/useful_tflops");
  const json price = row.value("price", json::object());
  std::string age = text_at(price, "source") == "--price" ? "your price" : text_at(price, "as_of");
  if (age.empty()) age = "undated";
  if (flag_at(price, "stale")) age += ", stale";
  std::string cells = number_cell(rank ? fmt::format("{:.0f}", *rank) : "-");
  cells += element("th", text_at(row, "label"), "scope=\"row\"") + element("td", term_text(text_at(row, "term")));
  cells += number_cell(money_text(number_at(row, "/per_hour").value_or(0), currency));
  cells += number_cell(useful ? number_text(*useful) : "-");
  cells += number_cell(rate ? money_text(*rate, currency) : "-");
  cells += element("td", text_at(row, "kind")) + element("td", age) + element("td", text_at(row, "basis"));
  return wrapped_in("tr", cells);
}

std::string interval_text(const Measurement& measurement) {
  if (!measurement.statistics || !measurement.statistics->ci95) return "";
  return range_text(measurement.statistics->ci95->first, measurement.statistics->ci95->second, measurement.unit);
}

// Leaves of an open document, one a row: "cpu.model", "EPYC".
void add_rows(const json& value, const std::string& path, std::string& rows, std::size_t& left) {
  if (left == 0) return;
  if (value.is_structured()) {
    for (const auto& [key, member] : value.items()) add_rows(member, path.empty() ? key : path + "." + key, rows, left);
    return;
  }
  if (value.is_null()) return;
  --left;
  rows += wrapped_in("tr", element("th", path, "scope=\"row\"") +
                               element("td", value.is_string() ? value.get<std::string>() : value.dump()));
}

std::string leaves(const json& value, const std::string& name) {
  constexpr std::size_t most = 2000;
  std::string rows;
  std::size_t left = most;
  add_rows(value, "", rows, left);
  if (rows.empty()) return {};
  if (left == 0) rows += wrapped_in("tr", element("td", "more is in result.json", "colspan=\"2\""));
  return wrapped_in("details", element("summary", name) + table({"", ""}, rows, "facts"));
}

}  // namespace

std::string cost_html(const Document& document) {
  if (!document.cost.is_object()) return {};
  std::string text;
  for (const json& result : objects_at(document.cost, "results")) {
    const json useful = result.value("useful", json());
    const std::string note = text_at(result, "note");
    if (!useful.is_object()) {
      text += element("p", "Not priced: " + note);
      continue;
    }
    std::string line = fmt::format("Useful {}: {}", text_at(useful, "data_type"), text_at(useful, "basis"));
    const auto rate = number_at(result, "/per_eflop");
    const auto claimed = number_at(result, "/claimed_per_eflop");
    const std::string currency = text_at(result, "currency");
    if (rate) line += fmt::format(": {} per useful EFLOP", money_text(*rate, currency));
    if (claimed) line += fmt::format(", {} if the data sheet were true", money_text(*claimed, currency));
    text += element("p", line + "." + (note.empty() ? "" : " " + note + "."), "class=\"cost-line\"");
  }
  std::string body;
  for (const json& row : objects_at(document.cost, "rows")) body += cost_row(row);
  if (body.empty()) return text;
  return text + wrapped_in("details", element("summary", "All rows") +
                                          table({"rank", "machine", "term", "an hour", "useful TFLOPS", "per EFLOP",
                                                 "kind", "price of", "basis"},
                                                body, "cost"));
}

std::string measurements_html(const Document& document) {
  std::string body;
  for (const Measurement& measurement : document.measurements) {
    const auto& statistics = measurement.statistics;
    std::string cells = element("th", measurement.metric, "scope=\"row\"") + element("td", case_text(measurement));
    cells += measurement.value ? element("td", quantity_text(*measurement.value, measurement.unit),
                                         fmt::format("class=\"number\" data-value=\"{}\"", *measurement.value))
                               : number_cell("-");
    cells += number_cell(statistics ? range_text(statistics->min, statistics->max, measurement.unit) : "");
    cells += number_cell(interval_text(measurement));
    cells += element("td", measurement.status == Outcome::ok
                               ? ""
                               : fmt::format("{}: {}", to_string(measurement.status), measurement.reason));
    body += wrapped_in(
        "tr", cells,
        fmt::format("data-id=\"{}\" data-metric=\"{}\"", escaped(measurement.id), escaped(measurement.metric)));
  }
  if (body.empty()) return {};
  return wrapped_in(
      "details", element("summary", fmt::format("{} measurements", document.measurements.size())) +
                     table({"metric", "case", "median", "min .. max", "95 % interval", "outcome"}, body, "measured"));
}

std::string environment_html(const Document& document) {
  return leaves(document.platform, "Platform") + leaves(document.system, "System") + leaves(document.run, "Run");
}

}  // namespace claimcheck::report

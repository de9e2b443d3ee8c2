// Every measurement as a line of CSV (RFC 4180), for spreadsheets and data frames. Numbers are whole, not rounded.
#include <fmt/format.h>

#include "harness/judge/machine.h"
#include "harness/report/format.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

using nlohmann::json;

// A leading =, +, - or @ would be a formula to a spreadsheet; an apostrophe makes it text.
std::string cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string number(std::optional<double> value) { return value ? fmt::format("{}", *value) : std::string(); }

}  // namespace

std::string render_csv(const Document& original, const ReportOptions&) {
  const Document document = sanitised(original);
  std::string text =
      "id,metric,value,unit,status,reason,min,max,cv,ci95_low,ci95_high,samples,devices,ranks,nodes,bytes,data_type,"
      "virtual,estimate,started,instance\n";
  const std::string run =
      fmt::format("{},{}", cell(text_at(document.run, "started")), cell(text_at(document.platform, "instance")));
  for (const Measurement& measurement : document.measurements) {
    const auto& statistics = measurement.statistics;
    const auto from = [&](auto member) {
      return number(statistics ? std::optional<double>((*statistics).*member) : std::nullopt);
    };
    const bool interval = statistics && statistics->ci95;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},", cell(measurement.id), cell(measurement.metric),
                        number(measurement.value), cell(measurement.unit), to_string(measurement.status),
                        cell(measurement.reason), from(&Statistics::min), from(&Statistics::max), from(&Statistics::cv),
                        number(interval ? std::optional(statistics->ci95->first) : std::nullopt),
                        number(interval ? std::optional(statistics->ci95->second) : std::nullopt),
                        statistics ? statistics->samples.size() : 0, measurement.devices.size());
    for (const char* condition : {"/ranks", "/nodes", "/bytes"})
      text += number(number_at(measurement.conditions, condition)) + ",";
    text += fmt::format("{},{},{},{}\n", cell(text_at(measurement.conditions, "data_type")), measurement.is_virtual,
                        measurement.estimate, run);
  }
  return text;
}

}  // namespace claimcheck

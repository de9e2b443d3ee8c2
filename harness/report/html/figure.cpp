#include "harness/report/html/figure.h"

#include <fmt/format.h>

#include "harness/report/html/escape.h"
#include "harness/report/quantity.h"

namespace claimcheck::report {
namespace {

using nlohmann::json;

std::string table_html(const Figure& figure) {
  std::string head = element("th", figure.category, "scope=\"col\"");
  for (const Series& series : figure.series) head += element("th", series.name, "scope=\"col\" class=\"number\"");
  std::string body;
  for (std::size_t i = 0; i < figure.labels.size(); ++i) {
    std::string row = element("th", figure.labels[i], "scope=\"row\"");
    for (const Series& series : figure.series) {
      const auto& value = series.values[i];
      row += value ? element("td", quantity_text(*value, figure.unit),
                             fmt::format("class=\"number\" data-value=\"{}\"", *value))
                   : element("td", "-", "class=\"number\"");
    }
    body += wrapped_in("tr", row);
  }
  return wrapped_in("table", wrapped_in("thead", wrapped_in("tr", head)) + wrapped_in("tbody", body));
}

}  // namespace

std::string figure_html(const Figure& figure) {
  const std::string label = escaped(figure.title + ". " + figure.caption + " The table below has the numbers.");
  const std::string canvas = fmt::format(
      "<div class=\"chart\" style=\"height:{}px\"><canvas id=\"chart-{}\" role=\"img\" aria-label=\"{}\">"
      "</canvas></div>",
      figure.height, figure.id, label);
  return wrapped_in("figure",
                    element("h3", figure.title) + canvas + element("figcaption", figure.caption) +
                        wrapped_in("details", element("summary", "Numbers") + table_html(figure)),
                    fmt::format("id=\"figure-{}\"", figure.id));
}

json figure_json(const Figure& figure) {
  json series = json::array();
  for (const Series& one : figure.series) {
    json values = json::array();
    for (const auto& value : one.values) values.push_back(value ? json(*value) : json(nullptr));
    series.push_back({{"name", one.name}, {"look", one.look}, {"values", values}});
  }
  // A ratio is shown in percent.
  return {{"id", figure.id},
          {"unit", figure.unit == "1" ? "%" : figure.unit},
          {"labels", figure.labels},
          {"series", series},
          {"category", figure.category},
          {"factor", figure.unit == "1" ? 100 : 1},
          {"horizontal", figure.horizontal},
          {"from_zero", figure.from_zero}};
}

}  // namespace claimcheck::report

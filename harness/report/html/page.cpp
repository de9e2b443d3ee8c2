// One self-contained page: verdict first, then the claims, figures, money, everything measured, machine and method. No
// request leaves it: the policy in its head forbids all but what is inside. Text comes escaped and is complete without
// scripts; these only draw the charts and offer the download.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "harness/embedded.h"
#include "harness/judge/judge.h"
#include "harness/metrics_page.h"
#include "harness/report/header.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/figure.h"
#include "harness/report/html/policy.h"
#include "harness/report/html/sections.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

using namespace report;
using nlohmann::json;

std::string asset(std::string_view path) { return std::string(embedded_file(path).value_or("")); }

std::string head_html(const std::string& title, const std::string& style, const std::vector<std::string>& scripts) {
  return "<head><meta charset=\"utf-8\">" +
         fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", content_policy(scripts)) +
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
         "<meta name=\"color-scheme\" content=\"light dark\">" +
         element("title", title) + "<style>" + style + "</style></head>";
}

std::string section(const std::string& id, const std::string& heading, const std::string& html) {
  if (html.empty()) return {};
  return wrapped_in("section", element("h2", heading, fmt::format("id=\"{}-heading\"", id)) + html,
                    fmt::format("id=\"{0}\" aria-labelledby=\"{0}-heading\"", id));
}

std::string header_html(const Document& document) {
  std::string rows;
  for (const HeaderLine& line : header_lines(document)) {
    if (is_warning(line)) continue;
    rows += element("dt", line.heading) + element("dd", line.content);
  }
  return wrapped_in("header",
                    wrapped_in("p", "claimcheck", "class=\"brand\"") + wrapped_in("dl", rows, "class=\"machine\""));
}

// What a reader must know before any number.
std::string warnings_html(const Document& document) {
  std::string html;
  for (const HeaderLine& line : header_lines(document))
    if (is_warning(line))
      html +=
          element("p", line.content, fmt::format("class=\"warning\" data-warning=\"{}\" role=\"note\"", line.heading));
  return html;
}

std::string figures_html(const std::vector<Figure>& figures, bool money) {
  std::string html;
  for (const Figure& figure : figures)
    if ((figure.id == "cost") == money) html += figure_html(figure);
  return html.empty() ? html : wrapped_in("div", html, "class=\"figures\"");
}

// The definitions of what was measured, from the page that defines every number.
std::string method_html(const Document& document) {
  std::set<const PageSection*> said;
  std::string html;
  for (const Measurement& measurement : document.measurements) {
    const PageSection* found = find_section(measurement.metric);
    if (found == nullptr || !said.insert(found).second) continue;
    html += wrapped_in("details", element("summary", fmt::format("{}", fmt::join(found->words, ", "))) +
                                      element("div", found->text, "class=\"prose\""));
  }
  return html;
}

std::string body_html(const Document& document, const std::vector<Figure>& figures) {
  std::string main = warnings_html(document) + verdict_html(document);
  main += section("claims", "Claims", claims_html(document));
  main += section("findings", "Found on this machine", findings_html(document));
  main += section("performance", "What it does", figures_html(figures, false));
  main += section("links", "Links", heat_maps_html(document));
  main += section("money", "Cost", figures_html(figures, true) + cost_html(document));
  main += section("measurements", "Everything that was measured", measurements_html(document));
  main += section("environment", "Environment", environment_html(document));
  main += section("method", "How it was measured", method_html(document));
  main += section("download", "Raw data",
                  wrapped_in("p", wrapped_in("a", "result.json",
                                             "id=\"download-link\" href=\"#download\" download=\"result.json\"") +
                                      " is the whole document, as claimcheck judges it."));
  return "<a class=\"skip\" href=\"#verdict\">To the verdict</a>" + header_html(document) + wrapped_in("main", main);
}

}  // namespace

std::string render_html(const Document& original, const ReportOptions& options) {
  const Document document = sanitised(original);
  const std::vector<Figure> figures = figures_of(document, options);
  json data = json::array();
  for (const Figure& figure : figures) data.push_back(figure_json(figure));
  const std::vector<std::string> scripts = {asset("chart.js"), asset("harness/report/html/page.js")};
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">" + head_html("claimcheck: " + summary(document.verdicts),
                                                                       asset("harness/report/html/page.css"), scripts);
  html += "<body>" + body_html(document, figures);
  html += wrapped_in("script", script_json(data), "type=\"application/json\" id=\"figures\"");
  html += wrapped_in("script", script_json(to_json(original)), "type=\"application/json\" id=\"result\"");
  for (const std::string& script : scripts) html += "<script>" + script + "</script>";
  return html + "</body></html>\n";
}

}  // namespace claimcheck

// One self-contained page: verdict first, then the claims, figures, money, everything measured, machine and method. No
// request leaves it: the policy in its head (frame.h) forbids all but what is inside. Text comes escaped and is
// complete without scripts; these only draw the charts and offer the download.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "harness/judge/judge.h"
#include "harness/metrics_page.h"
#include "harness/report/header.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/figure.h"
#include "harness/report/html/frame.h"
#include "harness/report/html/sections.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

using namespace report;

std::string header_rows(const Document& document) {
  std::string rows;
  for (const HeaderLine& line : header_lines(document)) {
    if (is_warning(line)) continue;
    rows += element("dt", line.heading) + element("dd", line.content);
  }
  return rows;
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

std::string main_html(const Document& document, const std::vector<Figure>& figures) {
  std::string main = section_html("claims", "Claims", claims_html(document));
  main += section_html("findings", "Found on this machine", findings_html(document));
  main += section_html("performance", "What it does", figures_html(figures, false));
  main += section_html("links", "Links", heat_maps_html(document));
  main += section_html("money", "Cost", figures_html(figures, true) + cost_html(document));
  main += section_html("measurements", "Everything that was measured", measurements_html(document));
  main += section_html("environment", "Environment", environment_html(document));
  main += section_html("method", "How it was measured", method_html(document));
  return main;
}

}  // namespace

std::string render_html(const Document& original, const ReportOptions& options) {
  const Document document = sanitised(original);
  const std::vector<Figure> figures = figures_of(document, options);
  return page_html({"claimcheck: " + summary(document.verdicts), warnings_html(document) + verdict_html(document),
                    header_rows(document), main_html(document, figures), figures, to_json(original), "result.json",
                    "is the whole document, as claimcheck judges it."});
}

}  // namespace claimcheck

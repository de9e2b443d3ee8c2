#include "harness/report/html/frame.h"

#include <fmt/format.h>

#include "harness/embedded.h"
#include "harness/report/html/escape.h"
#include "harness/report/html/policy.h"

namespace claimcheck::report {
namespace {

std::string asset(std::string_view path) { return std::string(embedded_file(path).value_or("")); }

std::string head_html(const std::string& title, const std::string& style, const std::vector<std::string>& scripts) {
  return "<head><meta charset=\"utf-8\">" +
         fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", content_policy(scripts)) +
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
         "<meta name=\"color-scheme\" content=\"light dark\">" +
         element("title", title) + "<style>" + style + "</style></head>";
}

std::string body_html(const Page& page) {
  const std::string header = wrapped_in("header", wrapped_in("p", "claimcheck", "class=\"brand\""));
  // On a phone the list of the machine fills a screen: the answer stands before it.
  const std::string top = page.verdict + wrapped_in("dl", page.header_rows, "class=\"machine\"");
  const std::string link =
      element("a", page.data_file,
              fmt::format("id=\"download-link\" href=\"#download\" download=\"{}\"", escaped(page.data_file)));
  const std::string download =
      section_html("download", "Raw data", wrapped_in("p", link + " " + escaped(page.data_explained)));
  return "<a class=\"skip\" href=\"#verdict\">To the verdict</a>" + header +
         wrapped_in("main", top + page.main + download);
}

}  // namespace

std::string section_html(const std::string& id, const std::string& heading, const std::string& html) {
  if (html.empty()) return {};
  return wrapped_in("section", element("h2", heading, fmt::format("id=\"{}-heading\"", id)) + html,
                    fmt::format("id=\"{0}\" aria-labelledby=\"{0}-heading\"", id));
}

std::string page_html(const Page& page) {
  nlohmann::json figures = nlohmann::json::array();
  for (const Figure& figure : page.figures) figures.push_back(figure_json(figure));
  const std::vector<std::string> scripts = {asset("chart.js"), asset("harness/report/html/page.js")};
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">" +
                     head_html(page.title, asset("harness/report/html/page.css"), scripts) + "<body>" + body_html(page);
  html += wrapped_in("script", script_json(figures), "type=\"application/json\" id=\"figures\"");
  html += wrapped_in("script", script_json(page.data), "type=\"application/json\" id=\"result\"");
  for (const std::string& script : scripts) html += "<script>" + script + "</script>";
  return html + "</body></html>\n";
}

}  // namespace claimcheck::report

// The table of report formats, and look-up by name.
#include "harness/report/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/error.h"
#include "harness/nearest.h"

namespace claimcheck {

const std::vector<ReportFormat>& report_formats() {
  static const std::vector<ReportFormat> formats = {{"text", render_text},
                                                    {"html", render_html},
                                                    {"md", render_markdown},
                                                    {"junit", render_junit},
                                                    {"annotations", render_annotations},
                                                    {"csv", render_csv},
                                                    {"prometheus", render_prometheus},
                                                    {"json", render_json}};
  return formats;
}

std::vector<std::string> report_format_names() {
  std::vector<std::string> names;
  for (const ReportFormat& format : report_formats()) names.emplace_back(format.name);
  return names;
}

const ReportFormat& report_format(std::string_view name) {
  for (const ReportFormat& format : report_formats()) {
    if (format.name == name) return format;
  }
  const auto names = report_format_names();
  const auto near = nearest(name, names, 1);
  throw UserError(fmt::format("unknown report format \"{}\": expected one of {}{}", name, fmt::join(names, ", "),
                              near.empty() ? std::string() : "; nearest: " + quoted_choice(near)));
}

}  // namespace claimcheck

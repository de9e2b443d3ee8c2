// The header of the report for a terminal.
#include "harness/report/header.h"
#include "harness/report/layout.h"
#include "harness/report/text.h"

namespace claimcheck::report {

std::string header_text(const Document& document, const ReportOptions& options) {
  constexpr std::size_t indent = 10;
  std::string out;
  for (const HeaderLine& line : header_lines(document))
    out += labelled(line.heading, line.content, indent, options.width);
  return out;
}

}  // namespace claimcheck::report

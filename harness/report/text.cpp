// The report for a terminal: verdict first, then evidence, then money.
#include "harness/report/text.h"

#include "harness/cost/cost.h"
#include "harness/judge/judge.h"
#include "harness/judge/meaning.h"
#include "harness/report/layout.h"
#include "harness/report/sanitise.h"

namespace claimcheck {
namespace {

constexpr std::size_t indent = 10;

Colour colour_of(const Document& document) {
  switch (exit_code(document.verdicts, document, false)) {
    case ExitCode::ok:
      return Colour::good;
    case ExitCode::not_met:
      return Colour::bad;
    default:
      return Colour::open;
  }
}

std::string verdict_line(const Document& document, const ReportOptions& options) {
  const std::string text =
      document.verdicts.empty()
          ? "Nothing was judged: no claim was given, and the catalog promises nothing for this machine."
          : summary(document.verdicts);
  const std::string plain = labelled("VERDICT", text, indent, options.width);
  const std::string means = meaning_of_all(document.verdicts);
  return paint("VERDICT", colour_of(document), options.colour) + plain.substr(7) +
         (means.empty() ? "" : labelled("MEANS", means, indent, options.width));
}

// The `cost` object is open: one that this version cannot read costs its table, not the report.
std::string cost_section(const nlohmann::json& cost) {
  try {
    return cost_text(cost);
  } catch (const nlohmann::json::exception&) {
    return "COST      not shown: /cost does not have the shape this claimcheck writes.\n";
  }
}

void section(std::string& out, const std::string& text) {
  if (text.empty()) return;
  out += '\n' + text;
  if (out.back() != '\n') out += '\n';
}

}  // namespace

std::string render_text(const Document& original, const ReportOptions& options) {
  const Document document = sanitised(original);
  std::string out = report::header_text(document, options);
  section(out, verdict_line(document, options));
  if (!document.verdicts.empty()) section(out, verdicts_text(document.verdicts));
  if (const std::string findings = report::findings_text(document, options); !findings.empty()) {
    section(out, paint("FOUND", Colour::strong, options.colour) + '\n' + findings);
  }
  section(out, report::measurements_text(document, options));
  if (const std::string scaling = report::scaling_text(document, options); !scaling.empty()) {
    section(out, paint("SCALING", Colour::strong, options.colour) + '\n' + scaling);
  }
  if (const std::string soak = report::soak_text(document, options); !soak.empty()) {
    section(out, paint("SOAK", Colour::strong, options.colour) + '\n' + soak);
  }
  if (const std::string links = report::links_text(document, options); !links.empty()) {
    section(out, paint("LINKS", Colour::strong, options.colour) + '\n' + links);
  }
  if (const std::string nodes = report::nodes_text(document, options); !nodes.empty()) {
    section(out, paint("NODES", Colour::strong, options.colour) + '\n' + nodes);
  }
  if (!document.cost.is_null()) section(out, cost_section(document.cost));
  return out;
}

}  // namespace claimcheck

// A stranger's result.json in every command that reads one. What is accepted has to be accepted again when written.
#include <cstdint>
#include <string_view>

#include "harness/catalog/catalog.h"
#include "harness/compare/compare.h"
#include "harness/cost/cost.h"
#include "harness/error.h"
#include "harness/evidence/derived.h"
#include "harness/history/history.h"
#include "harness/judge/findings.h"
#include "harness/judge/judge.h"
#include "harness/report/format.h"
#include "harness/report/sanitise.h"
#include "harness/result/json_text.h"
#include "harness/scale/scale.h"

namespace {

using namespace claimcheck;

template <typename Act>
void refusing(const Act& act) {
  try {
    act();
  } catch (const UserError&) {  // a refusal in a sentence is an answer
  }
}

void judge(Document& document, const Catalog& catalog) {
  derive(document, catalog);
  document.verdicts = all_verdicts(document, {}, catalog);
  exit_code(document.verdicts, document, true);
  verdicts_text(document.verdicts);
  replace_measured_findings(document, measured_findings(document, catalog));
  document_from(parse_json(dump_json(to_json(document)), "judged"));
}

void report(const Document& document, const Catalog& catalog) {
  ReportOptions look;
  look.catalog = &catalog;
  for (const ReportFormat& format : report_formats()) format.render(document, look);
}

void compare_with_itself(const Document& document) {
  const compare::Options rules;
  const compare::Named one = compare::baseline_of({{"a", document}, {"b", document}});
  const compare::Answer answer{"a", {compare::compare(one, {"b", document}, rules)}, false};
  compare::answer_text(answer, rules, false);
  compare::answer_markdown(answer, rules);
  compare::answer_annotations(answer, rules);
  dump_json(compare::answer_json(answer, rules));
}

void make_history(const Document& document) {
  const history::History course = history::history_of("folder", {{"a", document}, {"b", document}}, {});
  history::history_text(course, true, false);
  dump_json(history::history_json(course));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Catalog catalog = load_catalog();
  Document document;
  try {
    document = document_from(parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "input"));
  } catch (const UserError&) {
    return 0;
  }
  document_from(parse_json(dump_json(to_json(document)), "written"));
  report(document, catalog);
  Document clean = sanitised(document);
  refusing([&] { compare_with_itself(clean); });
  refusing([&] { cost_json({{"this machine", &clean}}, catalog, {}); });
  refusing([&] { scale::scale_text(scale::scale_json(&clean, catalog, {})); });
  refusing([&] { make_history(clean); });
  refusing([&] { judge(clean, catalog); });
  report(clean, catalog);
  return 0;
}

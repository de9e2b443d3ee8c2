#include "harness/guides/statements.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/catalog/view.h"
#include "harness/error.h"
#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/report/layout.h"

namespace claimcheck::guides {
namespace {

using nlohmann::json;

// What decides a statement, in the words of its record: "catalog+device", "calc", "none".
json judged_by(const json& statement) {
  const std::string check = text_at(statement, "check");
  json by = json::array();
  for (const auto& [word, name] : {std::pair("device", "device"), std::pair("bench", "benchmark"),
                                   std::pair("catalog", "catalog"), std::pair("calc", "formula")}) {
    if (check.find(word) != std::string::npos) by.push_back(name);
  }
  return by;
}

json computed_json(const json& statement, const json& all, const Catalog& catalog) {
  auto computed = from_formula(statement, all);
  if (!computed) computed = from_catalog(statement, catalog);
  if (!computed) return nullptr;
  return {{"text", computed->text}, {"agrees", computed->agrees ? json(*computed->agrees) : json(nullptr)}};
}

// A criterion for any machine names none.
bool is_about(const json& statement, const Platform* platform) {
  const json& about = statement.at("about");
  if (about.empty()) return true;
  return platform != nullptr && std::find(about.begin(), about.end(), platform->id) != about.end();
}

// How much a verdict says of a statement that needs all of several: the lowest speaks.
int rank(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::contradicted:
    case VerdictKind::not_met:
    case VerdictKind::implausible:
      return 0;
    case VerdictKind::inconclusive:
      return 1;
    case VerdictKind::not_measured:
      return 2;
    case VerdictKind::met:
      return 3;
  }
  return 0;
}

Verdict judged(const json& claim, const Catalog& catalog, const Document& document) {
  return judge(document, {parse_claim(claim.get<std::string>())}, catalog).front();
}

// A claim as --claim takes it, or a list of which one is enough.
Verdict best_of(const json& claims, const Catalog& catalog, const Document& document) {
  if (claims.is_string()) return judged(claims, catalog, document);
  Verdict best = judged(claims.front(), catalog, document);
  for (std::size_t i = 1; i < claims.size(); ++i) {
    Verdict other = judged(claims[i], catalog, document);
    if (rank(other.kind) > rank(best.kind)) best = std::move(other);
  }
  return best;
}

// Where a machine it is about was measured: the verdict on it, as on any claim; of several the worst.
json measured_json(const json& statement, const Catalog& catalog, const Document& document) {
  const auto testable = statement.find("testable");
  if (testable == statement.end() || !is_about(statement, platform_of(document, catalog))) return nullptr;
  const json all = testable->is_array() ? *testable : json::array({*testable});
  VerdictKind worst = VerdictKind::met;
  std::string text;
  for (const json& claims : all) {
    const Verdict verdict = best_of(claims, catalog, document);
    if (rank(verdict.kind) < rank(worst)) worst = verdict.kind;
    text += (text.empty() ? "" : "; ") + verdict.reason;
  }
  return {{"verdict", to_string(worst)}, {"text", text}};
}

std::string words(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string joined(const json& list) {
  std::string text;
  for (const json& one : list) text += (text.empty() ? "" : ", ") + one.get<std::string>();
  return text;
}

std::string how_text(const json& statement) {
  const json& by = statement.at("judged_by");
  if (by.empty()) return "nothing a machine or arithmetic decides";
  std::string text = "judged by " + joined(by);
  const auto testable = statement.find("testable");
  if (testable != statement.end() && std::find(by.begin(), by.end(), "benchmark") == by.end())
    return text + ": claimcheck catalog claims --result OUT/result.json";
  const auto metrics = statement.find("metrics");
  if (metrics != statement.end()) text += ": claimcheck run --only '" + metrics->front().get<std::string>() + "'";
  if (metrics != statement.end() && metrics->size() > 1) text += fmt::format(" and {} more", metrics->size() - 1);
  return text;
}

}  // namespace

json statements_json(const Catalog& catalog, std::optional<int> guide, const Document* document) {
  if (guide && (*guide < 0 || *guide > 2)) {
    throw UserError(fmt::format("--guide {}: there are guides 0, 1 and 2", *guide));
  }
  if (!catalog.guide_claims.is_object()) throw UserError("this catalog has no claims/guides.json");
  const json& all = catalog.guide_claims.at("claims");
  json answer = {{"schema_version", "1.0"},
                 {"kind", "statements"},
                 {"guide", guide ? json(*guide) : json(nullptr)},
                 {"counts", json::object()},
                 {"statements", json::array()}};
  for (const json& record : all) {
    if (guide && text_at(record, "guide") != fmt::format("guide {}", *guide)) continue;
    json statement = record;
    statement["judged_by"] = judged_by(record);
    statement["computed"] = computed_json(record, all, catalog);
    statement["measured"] = document == nullptr ? json(nullptr) : measured_json(record, catalog, *document);
    json& count = answer["counts"][text_at(record, "verdict")];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    answer["statements"].push_back(std::move(statement));
  }
  return answer;
}

std::string statements_text(const json& answer, std::size_t width, bool colour) {
  Table table({{"id"}, {"verdict", false, 44}, {"subject", false, 44}});
  for (const json& statement : answer.at("statements")) {
    const std::string verdict = text_at(statement, "verdict");
    const std::string remark = text_at(statement, "remark");
    const Colour tone = verdict == "ok" ? Colour::good : verdict == "wrong" ? Colour::bad : Colour::none;
    table.add({{text_at(statement, "id")},
               {words(verdict) + (remark.empty() ? "" : " (" + remark + ")"), tone},
               {text_at(statement, "subject")}});
    table.note(text_at(statement, "claim"), 4);
    if (const std::string right = text_at(statement, "right_value"); !right.empty()) table.note("-> " + right, 4);
    if (statement.at("computed").is_object()) table.note("computed: " + text_at(statement.at("computed"), "text"), 4);
    if (statement.at("measured").is_object()) {
      table.note(fmt::format("measured here: {}: {}", words(text_at(statement.at("measured"), "verdict")),
                             text_at(statement.at("measured"), "text")),
                 4);
    }
    table.note(how_text(statement), 4);
  }
  std::string counts;
  for (const auto& [verdict, count] : answer.at("counts").items()) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count.get<int>(), words(verdict));
  }
  return table.render(width, colour) +
         labelled("\n", fmt::format("{} statements: {}", answer.at("statements").size(), counts), 0, width);
}

}  // namespace claimcheck::guides

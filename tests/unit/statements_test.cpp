// The guides' statements held against the catalog and arithmetic.
#include "harness/guides/statements.h"

#include <map>
#include <set>

#include "harness/evidence/derived.h"
#include "harness/judge/claim.h"
#include "harness/report/layout.h"
#include "harness/result/metrics.h"
#include "tests/unit/cost_support.h"
#include "tests/unit/scale_support.h"

namespace claimcheck::guides {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Catalog& catalog() {
  static const Catalog loaded = load_catalog();
  return loaded;
}

const json& all() {
  static const json answer = statements_json(catalog(), std::nullopt, nullptr);
  return answer["statements"];
}

const json& statement(const std::string& id) {
  for (const json& one : all())
    if (one["id"] == id) return one;
  throw std::out_of_range(id);
}

std::string computed(const std::string& id) {
  const json& found = statement(id)["computed"];
  return found.is_null() ? "" : found["text"].get<std::string>();
}

TEST(Statements, OfThreeGuides) {
  EXPECT_EQ(all().size(), 142);
  std::size_t sum = 0;
  for (const int guide : {0, 1, 2}) sum += statements_json(catalog(), guide, nullptr)["statements"].size();
  EXPECT_EQ(sum, 142);
  EXPECT_THAT(scale_test::refusal([] { statements_json(catalog(), 3, nullptr); }), HasSubstr("guides 0, 1 and 2"));
}

// What was computed now says the same as the verdict in the record.
TEST(Statements, ComputedAndRecordedVerdictsGoTogether) {
  const std::set<std::string> right = {"ok", "partly_ok", "rule"};
  // The price is right and the card is not: GT4 has 40 GB.
  const std::set<std::string> wrong_for_another_reason = {"G1-12"};
  int agree = 0;
  int differ = 0;
  for (const json& one : all()) {
    if (one["computed"].is_null() || one["computed"]["agrees"].is_null()) continue;
    const bool agrees = one["computed"]["agrees"];
    (agrees ? agree : differ)++;
    if (agrees && !wrong_for_another_reason.contains(one["id"])) {
      EXPECT_TRUE(right.contains(one["verdict"])) << one["id"] << one["computed"]["text"];
    }
    if (!agrees) {
      EXPECT_NE(one["verdict"], "ok") << one["id"] << one["computed"]["text"];
    }
  }
  EXPECT_GE(agree, 4);
  EXPECT_GE(differ, 18);
}

TEST(Statements, Values) {
  EXPECT_THAT(computed("G0-02"), HasSubstr("1600 GB"));
  EXPECT_THAT(computed("G0-02"), HasSubstr("20 x 80 GB"));
  EXPECT_THAT(computed("G0-04"), HasSubstr("21.957642"));
  EXPECT_THAT(computed("G0-08"), HasSubstr("400 Gb/s"));
  EXPECT_THAT(computed("G0-14"), HasSubstr("275"));
  EXPECT_THAT(computed("G1-18"), HasSubstr("2496 TFLOPS"));
  EXPECT_THAT(computed("G1-21"), HasSubstr("16.7 %"));
  EXPECT_THAT(computed("G1-29"), HasSubstr("55.6 %"));
  EXPECT_THAT(computed("G2-07"), HasSubstr("900 GB/s"));
  EXPECT_THAT(computed("G2-34"), HasSubstr("735840"));
  EXPECT_THAT(computed("G2-35"), HasSubstr("315360"));
  EXPECT_THAT(computed("G2-37"), HasSubstr("57.1 %"));
  for (const char* id : {"G1-14", "G1-15", "G1-16"}) EXPECT_THAT(computed(id), HasSubstr("exactly half"));
}

TEST(Statements, BenchmarksThatDecideExist) {
  int with_metrics = 0;
  for (const json& one : all()) {
    for (const json& key : one.value("metrics", json::array())) {
      EXPECT_NE(find_metric(key.get<std::string>()), nullptr) << one["id"] << key;
      ++with_metrics;
    }
    for (const json& leaf : one.value("testable", json::array()).flatten()) {
      if (leaf.is_null()) continue;  // what flatten() makes of an empty list
      EXPECT_NO_THROW(parse_claim(leaf.get<std::string>())) << one["id"];
    }
  }
  EXPECT_GE(with_metrics, 40);
}

TEST(Statements, OpinionsStayOpinions) {
  int opinions = 0;
  for (const json& one : all()) {
    if (one["check"] != "none") continue;
    ++opinions;
    EXPECT_TRUE(one["computed"].is_null() && one["judged_by"].empty()) << one["id"];
  }
  EXPECT_EQ(opinions, 54);
}

// id -> verdict of the statements of a guide that the document judges.
std::map<std::string, std::string> measured(int guide, const Document& document) {
  std::map<std::string, std::string> verdicts;
  const json answer = statements_json(catalog(), guide, &document);
  for (const json& one : answer["statements"])
    if (!one["measured"].is_null()) verdicts[one["id"]] = one["measured"]["verdict"];
  return verdicts;
}

using Verdicts = std::map<std::string, std::string>;

TEST(Statements, AMachineTheyAreAboutJudgesThem) {
  Document document = cost_test::p5_measured();
  document.platform["catalog_id"] = "aws:p5.48xlarge";
  document.measurements.push_back(
      made::measured("p2p.bidirectional", "p2p.bidirectional.gbps", "GB/s", made::six(780)));
  EXPECT_EQ(measured(2, document), (Verdicts{{"G2-07", "met"}, {"G2-46", "not_measured"}}));
}

TEST(Statements, WhatIsInstalledJudgesThem) {
  Document document;
  const auto have = [&](std::initializer_list<const char*> names) {
    document.system["software_found"] = json::array();
    for (const char* name : names)
      document.system["software_found"].push_back({{"name", name}, {"version", "1.0"}, {"where", "opt"}});
  };
  document.system["container"] = "none";
  have({"cuda", "cudnn", "tensorflow", "podman"});  // one framework and one container runtime are enough
  EXPECT_EQ(measured(0, document), (Verdicts{{"G0-03", "met"}}));
  have({"cuda", "tensorflow", "podman", "nccl"});
  EXPECT_EQ(measured(0, document), (Verdicts{{"G0-03", "contradicted"}}));
  EXPECT_EQ(measured(2, document), (Verdicts{{"G2-46", "met"}}));
  document.platform["catalog_id"] = "gcp:ct5p-hightpu-4t";
  have({"jax"});
  EXPECT_EQ(measured(0, document), (Verdicts{{"G0-03", "contradicted"}, {"G0-16", "contradicted"}}));
}

TEST(Statements, StartUpTimeJudgesThem) {
  Document document;
  document.platform["catalog_id"] = "azure:Standard_ND96asr_v4";
  for (const auto& [seconds, verdict] : {std::pair(400.0, "met"), std::pair(1200.0, "not_met")}) {
    document.measurements = {};
    document.system["startup"] = {{"since", "boot"}, {"ready_seconds", seconds}};
    derive(document, catalog());
    EXPECT_EQ(measured(2, document)["G2-31"], verdict);
  }
  document.measurements = {};
  document.system["startup"] = {{"since", "boot"}, {"ready_seconds", nullptr}, {"ready_reason", "no cloud-init tells"}};
  derive(document, catalog());
  EXPECT_EQ(measured(2, document)["G2-31"], "not_measured");
}

TEST(Statements, TextFitsItsScreen) {
  const std::string text = statements_text(statements_json(catalog(), 2, nullptr), 100, false);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(display_width(text.substr(at, end - at)), 100);
    at = end + 1;
  }
  EXPECT_THAT(text, HasSubstr("computed: 1 - 315360 / 735840 = 57.1 %"));
}

}  // namespace
}  // namespace claimcheck::guides

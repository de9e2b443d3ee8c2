// The guides' statements held against the catalog and arithmetic.
#include "harness/guides/statements.h"

#include <map>
#include <set>

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
    if (one.contains("testable")) {
      EXPECT_NO_THROW(parse_claim(one["testable"].get<std::string>())) << one["id"];
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
  EXPECT_EQ(opinions, 55);
}

TEST(Statements, AMachineTheyAreAboutJudgesThem) {
  Document document = cost_test::p5_measured();
  document.platform["catalog_id"] = "aws:p5.48xlarge";
  document.measurements.push_back(
      made::measured("p2p.bidirectional", "p2p.bidirectional.gbps", "GB/s", made::six(780)));
  const json answer = statements_json(catalog(), 2, &document);
  int measured = 0;
  for (const json& one : answer["statements"]) {
    if (one["measured"].is_null()) continue;
    ++measured;
    EXPECT_EQ(one["id"], "G2-07");
    EXPECT_EQ(one["measured"]["verdict"], "met");
  }
  EXPECT_EQ(measured, 1);
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

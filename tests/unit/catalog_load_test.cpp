// The loader: what it reads, and that every refusal names file, place and what was expected.
#include "harness/catalog/catalog.h"
#include "tests/unit/catalog_fixture.h"

namespace claimcheck {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One change to the small catalog and what the error says.
struct Broken {
  const char* name;
  void (*change)(SmallCatalog&);
  std::vector<std::string> says;
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) { return out << broken.name; }

class Refusals : public ::testing::TestWithParam<Broken> {};

TEST_P(Refusals, NameFilePlaceAndExpectation) {
  SmallCatalog catalog;
  ASSERT_EQ(catalog.error(), "");
  GetParam().change(catalog);
  const std::string error = catalog.error();
  for (const std::string& part : GetParam().says) EXPECT_THAT(error, HasSubstr(part));
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

const char* const cards = "accelerators/nvidia.json";
const char* const values = "expected/values.json";
const char* const prices = "prices/aws.csv";

INSTANTIATE_TEST_SUITE_P(
    Catalog, Refusals,
    ::testing::Values(
        Broken{"card_without_source",
               [](SmallCatalog& c) { c.at(cards, "/accelerators/1").erase("source"); },
               {"accelerators/nvidia.json, /accelerators/1/source", "no source"}},
        Broken{"card_with_empty_source",
               [](SmallCatalog& c) { c.at(cards, "/accelerators/0/source").clear(); },
               {"/accelerators/0/source", "no source"}},
        Broken{"number_as_text",
               [](SmallCatalog& c) { c.at(cards, "/accelerators/0/memory_gb") = "80"; },
               {"/accelerators/0/memory_gb", "expected a number or null, found \"80\""}},
        Broken{"negative_number",
               [](SmallCatalog& c) { c.at(cards, "/accelerators/0/tdp_w") = -700; },
               {"/accelerators/0/tdp_w", "not negative, found -700"}},
        Broken{"negative_peak",
               [](SmallCatalog& c) { c.at(cards, "/accelerators/0/dense_tflops/bf16") = -1; },
               {"/accelerators/0/dense_tflops/bf16", "not negative"}},
        Broken{"half_a_count",
               [](SmallCatalog& c) { c.at("platforms/aws.json", "/platforms/0/accelerator_count") = 7.5; },
               {"platforms/aws.json, /platforms/0/accelerator_count", "whole number"}},
        Broken{"misspelled_field",
               [](SmallCatalog& c) { c.at(cards, "/accelerators/0/memory_gbs") = 80; },
               {"/accelerators/0/memory_gbs", "unknown \"memory_gbs\"", "\"memory_gb\""}},
        Broken{"id_that_is_not_provider_and_instance",
               [](SmallCatalog& c) { c.at("platforms/aws.json", "/platforms/0/id") = "aws:p5"; },
               {"/platforms/0/id", "expected \"aws:p5.48xlarge\", found \"aws:p5\""}},
        Broken{"source_without_date",
               [](SmallCatalog& c) { c.at("sources.json", "/sources/0").erase("date"); },
               {"sources.json, /sources/0/date", "no date", "\"undated\": true"}},
        Broken{"source_dated_and_undated",
               [](SmallCatalog& c) { c.at("sources.json", "/sources/0/undated") = true; },
               {"/sources/0/date", "both a date and"}},
        Broken{"date_that_is_none",
               [](SmallCatalog& c) { c.at("sources.json", "/sources/0/date") = "2026-13-01"; },
               {"/sources/0/date", "\"2026-13-01\" is no date", "YYYY-MM-DD"}},
        Broken{"source_twice",
               [](SmallCatalog& c) { c.at("sources.json", "/sources/1/id") = "list"; },
               {"/sources/1", "a second source \"list\""}},
        Broken{"value_without_date",
               [](SmallCatalog& c) { c.expected(0).erase("date"); },
               {"expected/values.json, /expected/0/date", "no date"}},
        Broken{"value_without_source",
               [](SmallCatalog& c) { c.expected(0).erase("source"); },
               {"/expected/0/source", "no source"}},
        Broken{"unknown_unit",
               [](SmallCatalog& c) { c.expected(0)["unit"] = "GBytes"; },
               {"/expected/0/unit", "unknown unit \"GBytes\"", "expected GB/s"}},
        Broken{"unit_in_another_spelling",
               [](SmallCatalog& c) { c.expected(0)["unit"] = "GBps"; },
               {"/expected/0/unit", "\"GBps\" is written \"GB/s\""}},
        Broken{"unit_of_another_metric",
               [](SmallCatalog& c) { c.expected(0)["unit"] = "TFLOPS"; },
               {"/expected/0/unit", "memory.copy.gbps is in GB/s"}},
        Broken{"metric_that_is_none",
               [](SmallCatalog& c) { c.expected(0)["metric"] = "HBM triad"; },
               {"/expected/0/metric", "no metric key"}},
        Broken{"floor_at_typical",
               [](SmallCatalog& c) { c.expected(0)["floor"] = 4010; },
               {"/expected/0/floor", "floor 4010 against typical 4010", "floor < typical <= ceiling"}},
        Broken{"typical_above_ceiling",
               [](SmallCatalog& c) { c.expected(0)["ceiling"] = 4000; },
               {"/expected/0/ceiling", "typical 4010 against ceiling 4000"}},
        Broken{"no_value_at_all",
               [](SmallCatalog& c) { c.expected(2)["typical"] = nullptr; },
               {"/expected/2/typical", "neither a floor nor a typical value"}},
        Broken{"family_of_nobody",
               [](SmallCatalog& c) { c.expected(0)["platform"] = "aws:g5.*"; },
               {"/expected/0/platform", "\"aws:g5.*\" fits no platform"}},
        Broken{"rate_of_zero",
               [](SmallCatalog& c) { c.at("currencies.json", "/currencies/0/per_usd") = 0; },
               {"currencies.json, /currencies/0/per_usd", "a rate above 0"}},
        Broken{"fee_of_a_kind_that_is_none",
               [](SmallCatalog& c) { c.at("fees.json", "/fees/0/kind") = "ingress"; },
               {"fees.json, /fees/0/kind", "egress"}},
        Broken{"fee_without_a_price",
               [](SmallCatalog& c) { c.at("fees.json", "/fees/0/tiers/1") = nlohmann::json::object(); },
               {"fees.json, /fees/0/tiers/1/price", "0 where nothing is taken"}},
        Broken{"fee_tier_within_the_free_part",
               [](SmallCatalog& c) { c.at("fees.json", "/fees/0/tiers/0/up_to_gb") = 100; },
               {"fees.json, /fees/0/tiers/0/up_to_gb", "expected more than"}},
        Broken{"fee_tier_without_an_end_before_another",
               [](SmallCatalog& c) { c.at("fees.json", "/fees/0/tiers/0").erase("up_to_gb"); },
               {"fees.json, /fees/0/tiers/0/up_to_gb", "only the last tier"}},
        Broken{"price_without_source",
               [](SmallCatalog& c) { c.price("x,r,spot,1,USD,gpu-hour,2026,,,,,"); },
               {"prices/aws.csv, line 6", "no source"}},
        Broken{"price_without_date",
               [](SmallCatalog& c) { c.price("x,r,spot,1,USD,gpu-hour,,,,,,list"); },
               {"prices/aws.csv, line 6", "no date", "undated"}},
        Broken{"price_in_words",
               [](SmallCatalog& c) { c.price("x,r,spot,cheap,USD,gpu-hour,2026,,,,,list"); },
               {"line 6", "per_hour is \"cheap\"", "finite number above 0"}},
        Broken{"price_of_zero",
               [](SmallCatalog& c) { c.price("x,r,spot,0,USD,gpu-hour,2026,,,,,list"); },
               {"line 6", "per_hour is \"0\""}},
        Broken{"price_below_zero",
               [](SmallCatalog& c) { c.price("x,r,spot,-2,USD,gpu-hour,2026,,,,,list"); },
               {"line 6", "per_hour is \"-2\""}},
        Broken{"price_that_is_infinite",
               [](SmallCatalog& c) { c.price("x,r,spot,inf,USD,gpu-hour,2026,,,,,list"); },
               {"line 6", "per_hour is \"inf\""}},
        Broken{"price_of_nan",
               [](SmallCatalog& c) { c.price("x,r,spot,nan,USD,gpu-hour,2026,,,,,list"); },
               {"line 6", "per_hour is \"nan\""}},
        Broken{"unknown_price_unit",
               [](SmallCatalog& c) { c.price("x,r,spot,1,USD,gpu-hours,2026,,,,,list"); },
               {"line 6", "unit: unknown \"gpu-hours\"", "\"gpu-hour\""}},
        Broken{"unknown_term",
               [](SmallCatalog& c) { c.price("x,r,ondemand,1,USD,gpu-hour,2026,,,,,list"); },
               {"line 6", "term: unknown \"ondemand\"", "\"on_demand\""}},
        Broken{"currency_in_lower_case",
               [](SmallCatalog& c) { c.price("x,r,spot,1,usd,gpu-hour,2026,,,,,list"); },
               {"line 6", "currency is \"usd\"", "ISO code"}},
        Broken{"cell_too_few",
               [](SmallCatalog& c) { c.price("x,r,spot,1,USD,gpu-hour"); },
               {"line 6", "6 cells; expected 12"}},
        Broken{"quote_that_stays_open", [](SmallCatalog& c) { c.price("\"x,r,spot"); }, {"line 6", "never closed"}},
        Broken{"misspelled_column",
               [](SmallCatalog& c) { c.tables[prices].replace(0, 8, "instanc"); },
               {"prices/aws.csv, line 1", "column unknown \"instanc\"", "\"instance\""}},
        Broken{"empty_price_file",
               [](SmallCatalog& c) { c.tables[prices] = ""; },
               {"prices/aws.csv, line 1", "no header"}},
        Broken{"list_that_is_missing",
               [](SmallCatalog& c) { c.documents[cards].erase("accelerators"); },
               {"accelerators/nvidia.json, /accelerators", "expected a list"}},
        Broken{"newer_version",
               [](SmallCatalog& c) { c.documents[values]["schema_version"] = "2.0"; },
               {"expected/values.json, /schema_version", "2.0; this claimcheck reads 1.0"}},
        Broken{"no_version",
               [](SmallCatalog& c) { c.documents[values].erase("schema_version"); },
               {"/schema_version", "expected \"1.0\""}},
        Broken{"file_of_no_kind",
               [](SmallCatalog& c) { c.documents["notes.json"] = {{"schema_version", "1.0"}}; },
               {"notes.json", "no part of a catalog"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CatalogLoad, BrokenJsonHasItsLine) {
  SmallCatalog catalog;
  std::vector<CatalogFile> files = catalog.files();
  for (CatalogFile& file : files) {
    if (file.path == cards) file.text = "{\n  \"schema_version\": \"1.0\",\n  \"accelerators\": [}\n";
  }
  try {
    read_catalog(files);
    FAIL() << "broken JSON was read";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("accelerators/nvidia.json, line 3: "), HasSubstr("not valid JSON")));
  }
}

TEST(CatalogLoad, ReadsWhatTheFilesSay) {
  SmallCatalog small;
  small.price(R"("p5, the ""big"" one",us-east-1,reserved_1y,,USD,instance-hour,2026-07,,,,,list page)");
  const Catalog catalog = small.load();
  EXPECT_EQ(catalog.accelerators.size(), 2u);
  EXPECT_EQ(catalog.accelerators[1].memory_bandwidth_gbps, 3350);
  EXPECT_EQ(catalog.accelerators[1].dense_tflops.at("fp8"), 1979);
  EXPECT_EQ(catalog.accelerators[1].tdp_w, std::nullopt);
  EXPECT_EQ(catalog.accelerators[1].place, "accelerators/nvidia.json /accelerators/1");
  ASSERT_EQ(catalog.prices.size(), 5u);
  EXPECT_EQ(catalog.prices[0].per_hour, 55.04);
  EXPECT_EQ(catalog.prices[2].as_of, "") << "undated";
  EXPECT_EQ(catalog.prices[4].instance, "p5, the \"big\" one");
  EXPECT_EQ(catalog.prices[4].per_hour, std::nullopt);
  EXPECT_EQ(catalog.prices[4].as_of, "2026-07");
  EXPECT_THAT(catalog.prices[4].sources, ElementsAre("list", "page"));
  EXPECT_EQ(catalog.prices[4].place, "prices/aws.csv:6");
  EXPECT_EQ(catalog.per_usd("CNY"), 7.0);
  EXPECT_EQ(catalog.per_usd("USD"), 1.0);
  EXPECT_EQ(catalog.per_usd("EUR"), std::nullopt);
  EXPECT_EQ(catalog.sources.at("page").date, "");
}

TEST(CatalogLoad, ARecordForAFamilyStandsOnceAPlatform) {
  SmallCatalog small;
  small.at("platforms/aws.json", "/platforms").push_back(SmallCatalog::machine("p5.4xlarge", "nvidia-h100-sxm-80"));
  small.expected(0)["platform"] = "aws:p5.*";
  small.expected(0)["accelerator"] = "nvidia-h100-sxm-80";
  std::vector<std::string> platforms;
  for (const Expected& record : small.load().expected) {
    if (!record.platform.empty()) platforms.push_back(record.platform);
  }
  EXPECT_THAT(platforms, ElementsAre("aws:p5.48xlarge", "aws:p5.4xlarge")) << "and not aws:p5en.48xlarge";
}

TEST(CatalogLoad, UnusableValuesAreKeptApart) {
  SmallCatalog small;
  small.expected(0)["unusable"] = "of another machine";
  const Catalog catalog = small.load();
  EXPECT_EQ(catalog.expected.size(), 2u);
  ASSERT_EQ(catalog.unusable_expected.size(), 1u);
  EXPECT_EQ(catalog.unusable_expected[0].id, "memory");
}

TEST(CatalogLoad, TheShippedCatalogIsWhole) {
  const Catalog catalog = load_catalog();
  EXPECT_EQ(catalog.accelerators.size(), 45u);
  EXPECT_EQ(catalog.platforms.size(), 194u);
  EXPECT_EQ(catalog.prices.size(), 582u);
  EXPECT_EQ(std::count_if(catalog.prices.begin(), catalog.prices.end(),
                          [](const Price& price) { return price.per_hour.has_value(); }),
            540);
  EXPECT_EQ(catalog.guide_claims.at("claims").size(), 142u);
  EXPECT_EQ(catalog.guide_contradictions.at("contradictions").size(), 25u);
}

}  // namespace
}  // namespace claimcheck

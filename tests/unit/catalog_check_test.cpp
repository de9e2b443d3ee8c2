// Every rule of the check, both ways: what it refuses, and the honest neighbour that passes.
#include <algorithm>

#include "harness/catalog/catalog.h"
#include "tests/unit/catalog_fixture.h"

namespace claimcheck {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const cards = "accelerators/nvidia.json";
const char* const platforms = "platforms/aws.json";

TEST(CatalogCheck, TheSmallCatalogPasses) {
  EXPECT_THAT(SmallCatalog().refused(), IsEmpty());
  EXPECT_THAT(SmallCatalog().disputed(), IsEmpty());
}

TEST(CatalogCheck, TheShippedCatalogPassesAndListsItsDisputes) {
  std::size_t disputed = 0;
  for (const CatalogProblem& problem : check_catalog()) {
    EXPECT_FALSE(problem.refused) << problem.file << " " << problem.place << ": " << problem.text;
    ++disputed;
  }
  EXPECT_GE(disputed, 59u + 25u) << "the conflicts of the accelerators and the contradictions of the guides";
}

TEST(CatalogCheck, GoesOnAfterAnErrorAndReportsAll) {
  SmallCatalog catalog;
  catalog.at(cards, "/accelerators/0").erase("source");
  catalog.expected(0)["unit"] = "GBytes";
  catalog.price("x,r,spot,1,USD,gpu-hour,,,,,,list");
  const auto refused = catalog.refused();
  EXPECT_THAT(refused, Contains(HasSubstr("accelerators/nvidia.json /accelerators/0/source: no source")));
  EXPECT_THAT(refused, Contains(HasSubstr("expected/values.json /expected/0/unit: unknown unit")));
  EXPECT_THAT(refused, Contains(HasSubstr("prices/aws.csv line 6: no date")));
}

TEST(CatalogCheck, Fees) {
  SmallCatalog catalog;
  catalog.at("fees.json", "/fees/0/provider") = "awz";
  EXPECT_THAT(catalog.refused(), Contains(AllOf(HasSubstr("/fees/0/provider"), HasSubstr("expected one of aws"))));
  SmallCatalog of_a_terabyte;
  of_a_terabyte.at("fees.json", "/fees/0/tiers/1/price") = 90;
  EXPECT_THAT(of_a_terabyte.refused(), Contains(HasSubstr("90 USD a GB; expected at most 1")));
  SmallCatalog free;
  free.at("fees.json", "/fees/0/tiers/1/price") = 0;
  EXPECT_THAT(free.refused(), IsEmpty());
  SmallCatalog unsourced;
  unsourced.at("fees.json", "/fees/0/source") = nlohmann::json::array({"nobody"});
  EXPECT_THAT(unsourced.refused(), Contains(HasSubstr("nobody")));
}

// ---- ids and references

TEST(CatalogCheck, DuplicateIds) {
  SmallCatalog catalog;
  catalog.at(cards, "/accelerators/0/id") = "nvidia-h100-sxm-80";
  EXPECT_THAT(catalog.refused(), Contains(AllOf(HasSubstr("nvidia.json /accelerators/1"),
                                                HasSubstr("the id \"nvidia-h100-sxm-80\" is taken"))));
  SmallCatalog second;
  second.at(platforms, "/platforms").push_back(second.at(platforms, "/platforms/0"));
  EXPECT_THAT(second.refused(), Contains(HasSubstr("the id \"aws:p5.48xlarge\" is taken")));
  SmallCatalog third;
  third.expected(1)["id"] = "memory";
  EXPECT_THAT(third.refused(), Contains(HasSubstr("/expected/1: the id \"memory\" is taken")));
}

TEST(CatalogCheck, ARecordForAFamilyIsNoDuplicate) {
  SmallCatalog catalog;
  catalog.at(platforms, "/platforms").push_back(SmallCatalog::machine("p5.4xlarge", "nvidia-h100-sxm-80"));
  catalog.expected(2)["platform"] = "aws:p5.*";
  catalog.expected(2)["accelerator"] = "nvidia-h100-sxm-80";
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogCheck, NamesThatMeanTwoThings) {
  SmallCatalog catalog;
  catalog.at(cards, "/accelerators/0/aliases") = {"H100-SXM5-80GB", "NVIDIA H100 SXM5 80GB"};
  EXPECT_THAT(catalog.refused(), Contains(HasSubstr("also means another accelerator")));
  SmallCatalog second;
  second.at(platforms, "/platforms/1/aliases") = {"p5.48xlarge"};
  EXPECT_THAT(second.refused(), Contains(HasSubstr("means more than one platform")));
}

TEST(CatalogCheck, UnknownReferences) {
  SmallCatalog catalog;
  catalog.at(platforms, "/platforms/0/accelerator") = "nvidia-h100-sxm";
  EXPECT_THAT(catalog.refused(), Contains(AllOf(HasSubstr("/platforms/0: unknown accelerator \"nvidia-h100-sxm\""),
                                                HasSubstr("nvidia-h100-sxm-80"))));
  SmallCatalog second;
  second.at(cards, "/accelerators/0/source") = {"hearsay"};
  EXPECT_THAT(second.refused(), ElementsAre(HasSubstr("unknown source \"hearsay\"")));
  SmallCatalog third;
  third.expected(0)["platform"] = "aws:p5em.48xlarge";
  EXPECT_THAT(third.refused(),
              Contains(AllOf(HasSubstr("unknown platform \"aws:p5em.48xlarge\""), HasSubstr("aws:p5en.48xlarge"))));
  SmallCatalog fourth;
  fourth.price("x,r,spot,1,USD,gpu-hour,2026,nvidia-h300,,,,list");
  EXPECT_THAT(fourth.refused(), Contains(HasSubstr("prices/aws.csv line 6: unknown accelerator \"nvidia-h300\"")));
  SmallCatalog fifth;
  fifth.expected(0)["accelerator"] = "unlisted:gh200";
  EXPECT_THAT(fifth.refused(), IsEmpty()) << "said to have no row";
}

TEST(CatalogCheck, PriceSourcesAreLookedUpToo) {
  SmallCatalog catalog;
  catalog.price("p5.48xlarge,eu-1,on_demand,56,USD,instance-hour,2026,nvidia-h100-sxm-80,8,,,list hearsay");
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("prices/aws.csv line 6: unknown source \"hearsay\"")));
}

// ---- prices against their peers. Peers per card: 55.04 / 8 = 6.88 USD, three times (385.28 CNY at 7.0 is 55.04 USD).

TEST(CatalogCheck, AFactorFiveOffItsPeers) {
  SmallCatalog above;  // 34.4 is five times 6.88
  above.price("y,r,on_demand,34.4,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  EXPECT_THAT(above.refused(), ElementsAre(AllOf(HasSubstr("prices/aws.csv line 6: a factor 5.0 above its peers"),
                                                 HasSubstr("34.4 USD per card-hour against a median of 6.88 of 3"))));
  SmallCatalog below;
  below.price("y,r,on_demand,34.3,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  EXPECT_THAT(below.refused(), IsEmpty());
  SmallCatalog low;
  low.price("y,r,on_demand,1.376,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  EXPECT_THAT(low.refused(), ElementsAre(HasSubstr("a factor 5.0 below its peers")));
  SmallCatalog near;
  near.price("y,r,on_demand,1.38,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  EXPECT_THAT(near.refused(), IsEmpty());
}

TEST(CatalogCheck, PerCardAgainstPerNode) {
  SmallCatalog catalog;  // a node of eight quoted at the price of one card, and the other way round
  catalog.price("y,r,on_demand,6.88,USD,instance-hour,2026,nvidia-h100-sxm-80,8,,,list");
  catalog.price("z,r,on_demand,55.04,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  EXPECT_THAT(catalog.refused(),
              ElementsAre(HasSubstr("line 6: a factor 8.0 below"), HasSubstr("line 7: a factor 8.0 above")));
}

TEST(CatalogCheck, TheSameInstanceInOtherRegions) {
  SmallCatalog catalog;  // no accelerator named, so only its own regions are peers
  catalog.price("q,r1,on_demand,10,USD,instance-hour,2026,,,,,list");
  catalog.price("q,r2,on_demand,11,USD,instance-hour,2026,,,,,list");
  catalog.price("q,r3,on_demand,80,USD,instance-hour,2026,,,,,list");
  EXPECT_THAT(
      catalog.refused(),
      ElementsAre(AllOf(HasSubstr("line 8"), HasSubstr("80 USD per instance-hour against a median of 10.5 of 2"))));
}

TEST(CatalogCheck, AReasonIsAsked) {
  SmallCatalog real;
  real.price("y,r,on_demand,1,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,a marketplace,,list");
  EXPECT_THAT(real.refused(), IsEmpty());
  EXPECT_THAT(real.disputed(), IsEmpty());
  SmallCatalog wrong;
  wrong.price("y,r,on_demand,1,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,an error of the source,list");
  EXPECT_THAT(wrong.refused(), IsEmpty());
  EXPECT_THAT(wrong.disputed(), ElementsAre(HasSubstr("not counted with: an error of the source")));
  SmallCatalog both;
  both.price("y,r,on_demand,1,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,a marketplace,an error,list");
  EXPECT_THAT(both.refused(), ElementsAre(HasSubstr("both outlier and unusable")));
}

TEST(CatalogCheck, MarkedPricesAreNobodysPeers) {
  SmallCatalog catalog;  // five marketplace offers must not make the list prices look dear
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    catalog.price(std::string(name) + ",r,on_demand,1,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,a marketplace,,list");
  }
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogCheck, UnknownPricesAndUnknownRatesHaveNoPeers) {
  SmallCatalog catalog;
  catalog.price("y,r,on_demand,,USD,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  catalog.price("y,r2,on_demand,900,KRW,gpu-hour,2026,nvidia-h100-sxm-80,1,,,list");
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogCheck, SpotAgainstOnDemand) {
  SmallCatalog floor;  // a tenth of 55.04
  floor.price("p5.48xlarge,us-east-2,spot,5.504,USD,instance-hour,2026,nvidia-h100-sxm-80,8,,,list");
  EXPECT_THAT(floor.refused(), ElementsAre(AllOf(HasSubstr("line 6"), HasSubstr("a bid floor, not a market price"))));
  SmallCatalog market;
  market.price("p5.48xlarge,us-east-2,spot,5.6,USD,instance-hour,2026,nvidia-h100-sxm-80,8,,,list");
  EXPECT_THAT(market.refused(), IsEmpty());
  SmallCatalog above;
  above.price("p5.48xlarge,us-east-2,spot,55.04,USD,instance-hour,2026,nvidia-h100-sxm-80,8,,,list");
  EXPECT_THAT(above.refused(), ElementsAre(HasSubstr("spot 55.04 is not below on demand 55.04")));
}

TEST(CatalogCheck, OnePriceTwice) {
  SmallCatalog copy;
  copy.price("p5.48xlarge,us-east-1,on_demand,55.04,USD,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,list");
  EXPECT_THAT(copy.refused(), ElementsAre(AllOf(HasSubstr("line 6"), HasSubstr("the same price as prices/aws.csv:2"))));
  SmallCatalog rival;
  rival.price("p5.48xlarge,us-east-1,on_demand,60,USD,instance-hour,2026-07-20,nvidia-h100-sxm-80,8,,,page");
  EXPECT_THAT(rival.refused(), IsEmpty());
  EXPECT_THAT(rival.disputed(), ElementsAre(AllOf(HasSubstr("60 here"), HasSubstr("55.04 at prices/aws.csv:2"))));
  SmallCatalog history;
  history.price("p5.48xlarge,us-east-1,on_demand,98.32,USD,instance-hour,2025-05,nvidia-h100-sxm-80,8,,,page");
  EXPECT_THAT(history.refused(), IsEmpty());
  EXPECT_THAT(history.disputed(), IsEmpty()) << "another date is a history, not a dispute";
  SmallCatalog undated;
  undated.price("p5.48xlarge,us-east-1,spot,25,USD,instance-hour,2026-01-01,nvidia-h100-sxm-80,8,,,list");
  EXPECT_THAT(undated.disputed(), ElementsAre(HasSubstr("25 here, 20.5 at"))) << "nothing says which holds";
}

// ---- expected values: mistakes that others shipped

TEST(CatalogCheck, AFloorAThousandTimesTooLowCannotFail) {
  SmallCatalog catalog;  // DCGM, H200: 2333 MB/s where 2333 GB/s was meant
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("dcgm", "memory.read.gbps", "GB/s", 2.333, nullptr, {}));
  EXPECT_THAT(catalog.refused(), ElementsAre(AllOf(HasSubstr("/expected/3: floor 2.333 GB/s cannot fail"),
                                                   HasSubstr("4800"), HasSubstr("a factor 2057 more"))));
  catalog.expected(3)["floor"] = 2333;
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogCheck, ALostDigitCannotFail) {
  SmallCatalog catalog;  // DCGM, H100 64 GB: 122.25 GB/s
  nlohmann::json record = SmallCatalog::value("dcgm", "memory.read.gbps", "GB/s", 122.25, nullptr, {});
  record["accelerator"] = "nvidia-h100-sxm-80";
  catalog.at("expected/values.json", "/expected").push_back(record);
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("floor 122.25 GB/s cannot fail")));
}

TEST(CatalogCheck, AThresholdAboveWhatTheLinksCarry) {
  SmallCatalog catalog;  // a health check for p5: 800 GB/s, where 2 x 7/8 x 450 = 787.5 is the most
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("reduce-h100", "allreduce.busbw.gbps", "GB/s", 800, nullptr,
                                     {{"nodes", 1}, {"count", 8}}));
  catalog.expected(3)["accelerator"] = "nvidia-h100-sxm-80";
  EXPECT_THAT(catalog.refused(), ElementsAre(AllOf(HasSubstr("floor 800 GB/s is above the physical ceiling 787.5"),
                                                   HasSubstr("nvidia-h100-sxm-80"))));
  catalog.expected(3)["floor"] = 780;
  EXPECT_THAT(catalog.refused(), IsEmpty());
  catalog.expected(3)["accelerator"] = "nvidia-h200-sxm-141";  // whose typical value is 480
  EXPECT_THAT(catalog.refused(),
              ElementsAre(HasSubstr("floor 780 GB/s, but the best known machine reaches 480 (reduce)")));
}

TEST(CatalogCheck, ValuesAboveThePhysicalCeiling) {
  const auto refused = [](const char* metric, const char* unit, double typical) {
    SmallCatalog catalog;
    catalog.at("expected/values.json", "/expected")
        .push_back(SmallCatalog::value("new", metric, unit, nullptr, typical, {}));
    return catalog.refused();
  };
  EXPECT_THAT(refused("memory.read.gbps", "GB/s", 4945), ElementsAre(HasSubstr("above the physical ceiling 4944")));
  EXPECT_THAT(refused("memory.read.gbps", "GB/s", 4917), IsEmpty()) << "by its clock, 2.4 % above the sheet";
  EXPECT_THAT(refused("gemm.bf16.tflops", "TFLOPS", 1979), ElementsAre(HasSubstr("above the physical ceiling 1088")))
      << "the sparse figure";
  EXPECT_THAT(refused("gemm.bf16.tflops", "TFLOPS", 1070), IsEmpty()) << "at its highest clock";
  EXPECT_THAT(refused("host_link.h2d.gbps", "GB/s", 64), ElementsAre(HasSubstr("above the physical ceiling 63")));
  EXPECT_THAT(refused("host_link.h2d.gbps", "GB/s", 57.6), IsEmpty());
  EXPECT_THAT(refused("p2p.read.gbps", "GB/s", 900), ElementsAre(HasSubstr("above the physical ceiling 450")))
      << "both directions claimed as one";
  EXPECT_THAT(refused("p2p.read.gbps", "GB/s", 396), IsEmpty());
}

TEST(CatalogCheck, AFloorFarBelowWhatIsTypicalNeedsAReason) {
  SmallCatalog catalog;  // four cards of which only pairs are joined: 25 where 480 is typical
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("low", "allreduce.busbw.gbps", "GB/s", 25, nullptr,
                                     {{"nodes", 1}, {"bytes", 17179869184}}));
  EXPECT_THAT(catalog.refused(), Contains(AllOf(HasSubstr("/expected/3: floor 25 GB/s cannot fail"),
                                                HasSubstr("480 is typical (reduce)"))));
  catalog.expected(3)["outlier"] = "pairs joined over PCIe";
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogCheck, OtherConditionsAreNotComparedWithEachOther) {
  SmallCatalog catalog;  // a ring of 367 says nothing about NVLS at 431
  catalog.expected(1)["conditions"]["algorithm"] = "nvls";
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("ring", "allreduce.busbw.gbps", "GB/s", 470, nullptr,
                                     {{"nodes", 1}, {"count", 8}, {"algorithm", "nvls"}}));
  EXPECT_THAT(catalog.refused(), IsEmpty());
  catalog.expected(3)["floor"] = 490;
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("the best known machine reaches 480")));
  catalog.expected(3)["conditions"]["algorithm"] = "ring";
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogCheck, UnusableValuesAreListedAndNotCompared) {
  SmallCatalog catalog;
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("wrong", "memory.read.gbps", "GB/s", 2.333, nullptr, {}));
  catalog.expected(3)["unusable"] = "a thousand times too low";
  EXPECT_THAT(catalog.refused(), IsEmpty());
  EXPECT_THAT(catalog.disputed(), ElementsAre(HasSubstr("wrong: not judged by: a thousand times too low")));
}

TEST(CatalogCheck, TwoValuesForOneThing) {
  SmallCatalog catalog;
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("rival", "gemm.bf16.tflops", "TFLOPS", nullptr, 800, {}));
  EXPECT_THAT(catalog.refused(), IsEmpty());
  EXPECT_THAT(catalog.disputed(), ElementsAre(HasSubstr("rival: typical 800 here, 700 at")));
  catalog.expected(3)["method"] = "another method";
  EXPECT_THAT(catalog.disputed(), IsEmpty()) << "another method is another thing";
}

TEST(CatalogCheck, ConflictsOfAnAcceleratorAreListedWithBothValues) {
  SmallCatalog catalog;
  catalog.at(cards, "/accelerators/0/conflicts") = {
      {{"field", "dense_tflops.bf16"}, {"value", 1979}, {"stated_by", "a shop"}, {"why", "sparse"}},
      {{"field", "tdp_w"}, {"value", 600}, {"stated_by", "a shop"}, {"why", nullptr}}};
  EXPECT_THAT(catalog.disputed(),
              ElementsAre(HasSubstr("nvidia-h200-sxm-141 dense_tflops.bf16: 989 here, 1979 by a shop (sparse)"),
                          HasSubstr("nvidia-h200-sxm-141 tdp_w: unknown here, 600 by a shop")));
}

TEST(CatalogCheck, GuideStatementsNameWhatThereIs) {
  SmallCatalog catalog;
  catalog.at("claims/guides.json", "/claims/0/about") = {"aws:p6.48xlarge"};
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("/claims/0/about: unknown platform \"aws:p6.48xlarge\"")));
  SmallCatalog second;
  second.at("claims/guides.json", "/claims").push_back(second.at("claims/guides.json", "/claims/0"));
  EXPECT_THAT(second.refused(), ElementsAre(HasSubstr("/claims/1: a second id \"G0-01\"")));
}

// Whatever stands in a file: the check ends with a list, and the loader with a catalog or one sentence.
TEST(CatalogCheck, SurvivesAnyTypeAnywhere) {
  const SmallCatalog whole;
  const std::vector<nlohmann::json> values = {
      nullptr, 5, -1, "x", true, nlohmann::json::array(), nlohmann::json::object()};
  for (const auto& [path, document] : whole.documents) {
    const nlohmann::json leaves = document.flatten();
    for (const auto& leaf : leaves.items()) {
      for (nlohmann::json::json_pointer place(leaf.key()); !place.empty(); place = place.parent_pointer()) {
        for (const nlohmann::json& value : values) {
          SmallCatalog changed = whole;
          changed.documents.at(path)[place] = value;
          EXPECT_NO_THROW(changed.refused()) << path << " " << place.to_string() << " " << value;
          EXPECT_NO_THROW(changed.error()) << path << " " << place.to_string() << " " << value;
        }
      }
    }
  }
}

TEST(CatalogCheck, SurvivesFilesCutShort) {
  const std::vector<CatalogFile> whole = SmallCatalog().files();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (std::size_t length = 0; length < whole[i].text.size(); ++length) {
      std::vector<CatalogFile> files = whole;
      files[i].text.resize(length);
      EXPECT_NO_THROW(check_files(files)) << whole[i].path << " at " << length;
    }
  }
}

TEST(CatalogCheck, ProblemsComeInTheOrderOfFilesAndLines) {
  SmallCatalog catalog;
  for (int i = 0; i < 12; ++i) catalog.price("x,r,spot,1,USD,gpu-hour,,,,,,list");
  const auto refused = catalog.refused();
  ASSERT_EQ(refused.size(), 12u);
  EXPECT_THAT(refused[3], HasSubstr("line 9:"));
  EXPECT_THAT(refused[4], HasSubstr("line 10:"));
}

}  // namespace
}  // namespace claimcheck

// Expected values that others shipped and that were wrong, one by one: each is refused, or listed where nobody can tell
// which of two holds. The first of them are in catalog_check_test.cpp.
#include <fmt/format.h>

#include "harness/catalog/catalog.h"
#include "tests/unit/catalog_fixture.h"

namespace claimcheck {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const cards = "accelerators/nvidia.json";
const char* const platforms = "platforms/aws.json";

std::vector<std::string> refused_with(const nlohmann::json& record, const char* accelerator = nullptr) {
  SmallCatalog catalog;
  catalog.at("expected/values.json", "/expected").push_back(record);
  if (accelerator != nullptr) catalog.expected(3)["accelerator"] = accelerator;
  return catalog.refused();
}

TEST(CatalogExpected, MegabytesForGigabytes) {
  EXPECT_THAT(refused_with(SmallCatalog::value("dcgm", "memory.read.gbps", "MB/s", 2333, nullptr, {})),
              ElementsAre(HasSubstr("\"MB/s\"; memory.read.gbps is in GB/s")));
}

TEST(CatalogExpected, AFloorThatNoHealthyMachineReaches) {
  const nlohmann::json one = {{"nodes", 1}, {"count", 8}};
  EXPECT_THAT(refused_with(SmallCatalog::value("nvlink-only", "allreduce.busbw.gbps", "GB/s", 500, nullptr, one)),
              ElementsAre(HasSubstr("floor 500 GB/s, but the best known machine reaches 480 (reduce)")));
  EXPECT_THAT(refused_with(SmallCatalog::value("readme", "allreduce.busbw.gbps", "GB/s", 480, nullptr, one)),
              ElementsAre(HasSubstr("floor 480 GB/s, but the best known machine reaches 480")))
      << "half of all healthy machines would fail";
  SmallCatalog nodes;  // 800 asked of two p5 nodes, whose own page says 487
  const nlohmann::json two = {{"nodes", 2}, {"count", 8}, {"fabric", "efa-v2"}};
  nlohmann::json best = SmallCatalog::value("two", "allreduce.busbw.gbps", "GB/s", nullptr, 487, two);
  nlohmann::json line = SmallCatalog::value("health", "allreduce.busbw.gbps", "GB/s", 800, nullptr, two);
  for (const auto& record : {best, line}) nodes.at("expected/values.json", "/expected").push_back(record);
  EXPECT_THAT(nodes.refused(), ElementsAre(HasSubstr("floor 800 GB/s, but the best known machine reaches 487 (two)")));
}

TEST(CatalogExpected, AFloorThatLetsTwoFifthsBeLost) {
  const nlohmann::json rack = {{"nodes", 18}, {"fabric", "nvlink-rack"}};
  SmallCatalog catalog;  // GB200: 500 x a hidden 0.9 where 770 is healthy
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("rack", "allreduce.busbw.gbps", "GB/s", nullptr, 770, rack));
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("line", "allreduce.busbw.gbps", "GB/s", 450, nullptr, rack));
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("floor 450 GB/s lets 42 % be lost: 770 is typical (rack)")));
  catalog.expected(4)["floor"] = 600;
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogExpected, TwoFloorsOfOneMachineAreListed) {
  SmallCatalog catalog;  // README and configuration of one project
  const nlohmann::json all = {{"devices_at_once", 1}};
  for (const auto& [name, floor] : {std::pair{"readme", 52.0}, std::pair{"conf", 48.0}})
    catalog.at("expected/values.json", "/expected")
        .push_back(SmallCatalog::value(name, "host_link.h2d.gbps", "GB/s", floor, nullptr, all));
  EXPECT_THAT(catalog.refused(), IsEmpty());
  EXPECT_THAT(catalog.disputed(), ElementsAre(HasSubstr("conf: floor 48 here, 52 at")));
  catalog.expected(4)["floor"] = 51;
  EXPECT_THAT(catalog.disputed(), IsEmpty()) << "within 5 %";
}

TEST(CatalogExpected, ALineOfManyNodesNamesItsNetwork) {
  const nlohmann::json nodes = {{"nodes", 2}, {"count", 8}};
  nlohmann::json record = SmallCatalog::value("eks", "allreduce.busbw.gbps", "GB/s", 300, nullptr, nodes);
  EXPECT_THAT(refused_with(record),
              ElementsAre(HasSubstr("2 nodes on any machine with nvidia-h200-sxm-141, whatever its network")));
  record["conditions"]["fabric"] = "efa-v3";
  EXPECT_THAT(refused_with(record), IsEmpty());
  record["conditions"].erase("fabric");
  record["platform"] = "aws:p5en.48xlarge";
  EXPECT_THAT(refused_with(record), IsEmpty());
}

TEST(CatalogExpected, ALineForMoreDevicesThanTheMachineHas) {
  SmallCatalog catalog;  // 300 for eight GPUs failed every p5.4xlarge, which has one
  nlohmann::json small = SmallCatalog::machine("p5.4xlarge", "nvidia-h100-sxm-80");
  small["accelerator_count"] = 1;
  catalog.at(platforms, "/platforms").push_back(small);
  nlohmann::json record =
      SmallCatalog::value("eks", "allreduce.busbw.gbps", "GB/s", 300, nullptr, {{"nodes", 1}, {"count", 8}});
  record["accelerator"] = "nvidia-h100-sxm-80";
  record["platform"] = "aws:p5.4xlarge";
  catalog.at("expected/values.json", "/expected").push_back(record);
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("count 8, but aws:p5.4xlarge has 1 accelerators")));
  catalog.expected(3)["platform"] = "aws:p5.48xlarge";
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogExpected, OneDirectionFarBelowTheOther) {
  SmallCatalog catalog;  // 26.3 from the host and 6.27 to it, printed as reference
  const nlohmann::json alone = {{"devices_at_once", 1}};
  for (const auto& [metric, rate] : {std::pair{"host_link.h2d.gbps", 26.3}, std::pair{"host_link.d2h.gbps", 6.27}})
    catalog.at("expected/values.json", "/expected")
        .push_back(SmallCatalog::value(metric, metric, "GB/s", nullptr, rate, alone));
  EXPECT_THAT(catalog.refused(),
              ElementsAre(AllOf(HasSubstr("6.27 GB/s to the host, 26.3 from it"), HasSubstr("factor 4.2"))));
  catalog.expected(4)["typical"] = 24;
  EXPECT_THAT(catalog.refused(), IsEmpty());
}

TEST(CatalogExpected, TheSumOfANodeForOneCard) {
  EXPECT_THAT(refused_with(SmallCatalog::value("fp8", "gemm.fp8_e4m3.tflops", "TFLOPS", nullptr, 3554, {})),
              ElementsAre(HasSubstr("typical 3554 TFLOPS is above the physical ceiling 2177")))
      << "eight cards over the sparse peak of one: called 89.8 %, truly 22 %";
  EXPECT_THAT(refused_with(SmallCatalog::value("fp64", "gemm.fp64.tflops", "TFLOPS", nullptr, 480, {})),
              ElementsAre(HasSubstr("above the physical ceiling 73.7")));
}

TEST(CatalogExpected, ASweepThatStoppedEarly) {
  SmallCatalog catalog;  // all-gather 183 at 256 MiB, printed without its size; 361.4 at 8 GiB
  nlohmann::json whole = SmallCatalog::value("whole", "allgather.busbw.gbps", "GB/s", nullptr, 361.4,
                                             {{"nodes", 1}, {"count", 8}, {"bytes", 8589934592}});
  nlohmann::json early =
      SmallCatalog::value("early", "allgather.busbw.gbps", "GB/s", nullptr, 183, {{"nodes", 1}, {"count", 8}});
  for (const auto& record : {whole, early}) catalog.at("expected/values.json", "/expected").push_back(record);
  EXPECT_THAT(catalog.refused(), ElementsAre(AllOf(HasSubstr("typical 183 GB/s without a message size"),
                                                   HasSubstr("whole reaches 361.4"))));
  catalog.expected(4)["conditions"]["bytes"] = 268435456;
  EXPECT_THAT(catalog.refused(), IsEmpty()) << "a value for 256 MiB is compared with 256 MiB";
}

TEST(CatalogExpected, AnotherTypeThanTheLabelSays) {
  SmallCatalog catalog;  // "FP32" that was TF32: 373 where 67 is the most
  for (int i = 0; i < 2; ++i) catalog.at(cards, fmt::format("/accelerators/{}/dense_tflops", i))["fp32"] = 67;
  catalog.at("expected/values.json", "/expected")
      .push_back(SmallCatalog::value("fryer", "gemm.fp32.tflops", "TFLOPS", nullptr, 373, {}));
  EXPECT_THAT(catalog.refused(), ElementsAre(HasSubstr("typical 373 TFLOPS is above the physical ceiling 73.7")));
}

TEST(CatalogExpected, AHiddenFactorIsNoField) {
  nlohmann::json record = SmallCatalog::value("aicr", "memory.read.gbps", "GB/s", 4000, nullptr, {});
  record["tolerance"] = 0.9;
  EXPECT_THAT(refused_with(record), ElementsAre(HasSubstr("tolerance")))
      << "what is subtracted is said once, in the report";
}

}  // namespace
}  // namespace claimcheck

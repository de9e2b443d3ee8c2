// Names as people, price lists and drivers spell them, against the shipped catalog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/catalog/catalog.h"
#include "harness/catalog/names.h"

namespace claimcheck {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const Catalog& shipped() {
  static const Catalog catalog = load_catalog();
  return catalog;
}

struct Name {
  const char* spelling;
  const char* id;  // empty: must not be found
};

class PlatformNames : public ::testing::TestWithParam<Name> {};

TEST_P(PlatformNames, AreFound) {
  const Platform* found = shipped().find_platform(GetParam().spelling);
  EXPECT_EQ(found == nullptr ? "" : found->id, GetParam().id) << GetParam().spelling;
}

INSTANTIATE_TEST_SUITE_P(
    Catalog, PlatformNames,
    ::testing::Values(
        Name{"aws:p5.48xlarge", "aws:p5.48xlarge"}, Name{"p5.48xlarge", "aws:p5.48xlarge"},
        Name{"P5.48XLARGE", "aws:p5.48xlarge"}, Name{"p5-48xlarge", "aws:p5.48xlarge"},
        Name{"aws p5.48xlarge", "aws:p5.48xlarge"}, Name{"Amazon p4d.24xlarge", "aws:p4d.24xlarge"},
        Name{"EC2 g4dn.xlarge", "aws:g4dn.xlarge"}, Name{"p6-b200.48xlarge", "aws:p6-b200.48xlarge"},
        Name{"Standard_ND96isr_H100_v5", "azure:Standard_ND96isr_H100_v5"},
        Name{"nd96isr h100 v5", "azure:Standard_ND96isr_H100_v5"},
        Name{"ND96isr_H100_v5", "azure:Standard_ND96isr_H100_v5"},
        Name{"azure:Standard_NC6s_v3", "azure:Standard_NC6s_v3"}, Name{"nc6s_v3", "azure:Standard_NC6s_v3"},
        Name{"a3-highgpu-8g", "gcp:a3-highgpu-8g"}, Name{"google a2-ultragpu-1g", "gcp:a2-ultragpu-1g"},
        Name{"projects/7/machineTypes/a3-megagpu-8g", "gcp:a3-megagpu-8g"},
        Name{"ecs.gn7-c12g1.3xlarge", "alibaba:ecs.gn7-c12g1.3xlarge"},
        Name{"gn7-c12g1.3xlarge", "alibaba:ecs.gn7-c12g1.3xlarge"},
        Name{"aliyun:ecs.gn6v-c8g1.2xlarge", "alibaba:ecs.gn6v-c8g1.2xlarge"},
        Name{"GT4.41XLARGE948", "tencent:GT4.41XLARGE948"}, Name{"gn7.2xlarge32", "tencent:GN7.2XLARGE32"},
        Name{"oracle BM.GPU.H100.8", "oci:BM.GPU.H100.8"}, Name{"bm.gpu4.8", "oci:BM.GPU4.8"},
        Name{"gpu_8x_h100_sxm5", "lambda:gpu_8x_h100_sxm5"}, Name{"otc:p3.2xlarge.8", "huawei-otc:p3.2xlarge.8"},
        Name{"kat1.8xlarge", "huawei:ModelArts kat1.8xlarge (Ascend)"},
        Name{"tpu v4 pod slice", "gcp:tpu-v4 (per chip, pod slice)"},
        // A family is no machine, another provider's machine is not this one's, and a near miss is not a find.
        Name{"p5", ""}, Name{"p4d", ""}, Name{"gcp:p5.48xlarge", ""}, Name{"p5.48xlrage", ""}, Name{"", ""},
        Name{"aws:", ""}, Name{"p3.2xlarge", "aws:p3.2xlarge"}, Name{"8xH100", ""}));

class CardNames : public ::testing::TestWithParam<Name> {};

TEST_P(CardNames, AreFound) {
  const Accelerator* found = shipped().find_accelerator(GetParam().spelling);
  EXPECT_EQ(found == nullptr ? "" : found->id, GetParam().id) << GetParam().spelling;
}

INSTANTIATE_TEST_SUITE_P(
    Catalog, CardNames,
    ::testing::Values(
        // What drivers say.
        Name{"NVIDIA H100 80GB HBM3", "nvidia-h100-sxm-80"}, Name{"NVIDIA H100 PCIe", "nvidia-h100-pcie-80"},
        Name{"NVIDIA H100 NVL", "nvidia-h100-nvl-94"}, Name{"NVIDIA H200", "nvidia-h200-sxm-141"},
        Name{"NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm-80"}, Name{"NVIDIA A100-SXM4-40GB", "nvidia-a100-sxm-40"},
        Name{"NVIDIA A100 80GB PCIe", "nvidia-a100-pcie-80"}, Name{"NVIDIA A100-PCIE-40GB", "nvidia-a100-pcie-40"},
        Name{"Tesla T4", "nvidia-t4"}, Name{"Tesla V100-SXM2-16GB", "nvidia-v100-sxm2-16"},
        Name{"Tesla V100-SXM2-32GB", "nvidia-v100-sxm2-32"}, Name{"Tesla V100-PCIE-16GB", "nvidia-v100-pcie-16"},
        Name{"NVIDIA A10G", "nvidia-a10g"}, Name{"NVIDIA A10", "nvidia-a10"}, Name{"NVIDIA L4", "nvidia-l4"},
        Name{"NVIDIA L40S", "nvidia-l40s"}, Name{"NVIDIA B200", "nvidia-b200-180"},
        Name{"NVIDIA B300 SXM6 AC", "nvidia-b300-288"}, Name{"NVIDIA GB200", "nvidia-gb200-186"},
        Name{"NVIDIA GeForce RTX 4090", "nvidia-rtx4090"}, Name{"AMD Instinct MI300X", "amd-mi300x"},
        Name{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "nvidia-rtx-pro-6000-se"},
        // What people say.
        Name{"H100 SXM", "nvidia-h100-sxm-80"}, Name{"h100-sxm5-80gb", "nvidia-h100-sxm-80"},
        Name{"8x NVIDIA H100 80GB HBM3", "nvidia-h100-sxm-80"}, Name{"8 x H100 SXM", "nvidia-h100-sxm-80"},
        Name{"A100-SXM4-80GB", "nvidia-a100-sxm-80"}, Name{"A100 SXM 80", "nvidia-a100-sxm-80"},
        Name{"A100 40GB SXM", "nvidia-a100-sxm-40"}, Name{"t4", "nvidia-t4"}, Name{"rtx4090", "nvidia-rtx4090"},
        Name{"RTX 3090", "nvidia-rtx3090"}, Name{"V100S", "nvidia-v100s-pcie-32"}, Name{"MI300X", "amd-mi300x"},
        Name{"TPU v4", "google-tpu-v4"}, Name{"tpuv5e", "google-tpu-v5e"}, Name{"Trillium", "google-tpu-v6e"},
        Name{"Gaudi 3", "intel-gaudi3"}, Name{"gaudi2", "intel-gaudi2"}, Name{"Ascend 910B", "huawei-ascend-910b"},
        Name{"trainium2", "aws-trainium2"}, Name{"H20", "nvidia-h20-96"},
        // More than one fits, or none; slices of a card are not the card.
        Name{"A100", ""}, Name{"H100", ""}, Name{"8xH100", ""}, Name{"V100 32GB", ""}, Name{"A100 80GB", ""},
        Name{"NVIDIA", ""}, Name{"80 GB", ""}, Name{"141", ""}, Name{"", ""}, Name{"GRID T4-16Q", ""},
        Name{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""}, Name{"NVIDIA GH200 480GB", ""}, Name{"NVIDIA A10-8Q", ""},
        Name{"RTX 6000 Ada", ""}, Name{"A1000", ""}));

TEST(CatalogLookup, EveryRowIsFoundByItsIdNameAndAliases) {
  for (const Platform& platform : shipped().platforms) {
    EXPECT_EQ(shipped().find_platform(platform.id), &platform) << platform.id;
    for (const std::string& alias : platform.aliases) EXPECT_EQ(shipped().find_platform(alias), &platform) << alias;
  }
  for (const Accelerator& card : shipped().accelerators) {
    EXPECT_EQ(shipped().find_accelerator(card.id), &card) << card.id;
    EXPECT_EQ(shipped().find_accelerator(card.name), &card) << card.name;
    for (const std::string& alias : card.aliases) EXPECT_EQ(shipped().find_accelerator(alias), &card) << alias;
  }
}

TEST(CatalogLookup, AmbiguousNamesGiveEveryCandidate) {
  EXPECT_THAT(shipped().near_accelerators("A100", 4),
              ElementsAre("nvidia-a100-pcie-40", "nvidia-a100-pcie-80", "nvidia-a100-sxm-40", "nvidia-a100-sxm-80"));
  EXPECT_THAT(shipped().near_accelerators("H100"),
              ElementsAre("nvidia-h100-nvl-94", "nvidia-h100-pcie-80", "nvidia-h100-sxm-80"));
  EXPECT_EQ(shipped().accelerators_named("8xH100").size(), 3u);
}

TEST(CatalogLookup, FamiliesAndTyposAreNear) {
  EXPECT_THAT(shipped().near_platforms("p4d", 2), ElementsAre("aws:p4d.24xlarge", "aws:p4de.24xlarge"));
  EXPECT_THAT(shipped().near_platforms("p5.48xlrage", 1), ElementsAre("aws:p5.48xlarge"));
  EXPECT_THAT(shipped().near_platforms("Standard_ND96isr_H100_v6", 1), ElementsAre("azure:Standard_ND96isr_H100_v5"));
  EXPECT_THAT(shipped().near_accelerators("H10O SXM", 1), ElementsAre("nvidia-h100-sxm-80"));
  EXPECT_THAT(shipped().near_accelerators("MI300Y", 1), ElementsAre("amd-mi300x"));
  EXPECT_THAT(shipped().near_platforms("a machine of my own making"), IsEmpty());
  EXPECT_THAT(shipped().near_accelerators(""), IsEmpty());
}

TEST(CatalogLookup, PricesOfATpuHostAreThoseOfItsChips) {
  const Platform* host = shipped().find_platform("gcp:ct5lp-hightpu-8t");
  ASSERT_NE(host, nullptr);
  const std::vector<const Price*> prices = shipped().prices_of(*host);
  ASSERT_FALSE(prices.empty());
  for (const Price* price : prices) {
    if (price->instance == host->instance) continue;
    EXPECT_EQ(price->unit, "chip-hour");
    EXPECT_EQ(price->accelerator, "google-tpu-v5e");
  }
}

TEST(CatalogLookup, PricesOfLeavesOutWhatIsNoPrice) {
  const Platform* p5 = shipped().find_platform("aws:p5.48xlarge");
  ASSERT_NE(p5, nullptr);
  for (const Price* price : shipped().prices_of(*p5)) EXPECT_NE(price->per_hour, 7.5955);  // a bid floor
  const auto floors = std::count_if(shipped().prices.begin(), shipped().prices.end(),
                                    [](const Price& price) { return price.per_hour == 7.5955; });
  EXPECT_EQ(floors, 1) << "kept in the catalog all the same";
}

TEST(CatalogNames, WordsOfACard) {
  EXPECT_THAT(card_words("8x NVIDIA A100-SXM4-80GB"), ElementsAre("a100", "sxm4", "80"));
  EXPECT_THAT(card_words("4 \xC3\x97 Tesla T4"), ElementsAre("t4"));
  EXPECT_THAT(card_words("2 x 4090"), ElementsAre("4090"));
  EXPECT_THAT(card_words("MIG 1g.10gb"), ElementsAre("mig", "1", "10"));
}

TEST(CatalogNames, ProviderAndInstance) {
  EXPECT_THAT(instance_name("Amazon p5.48xlarge"), Pair("aws", "p548xlarge"));
  EXPECT_THAT(instance_name("Standard_NC6s_v3"), Pair("", "nc6sv3"));
  EXPECT_THAT(instance_name("somewhere:x1"), Pair("somewhere", "x1"));
  EXPECT_THAT(instance_name("1x A100-80GB PCIe (secure)"), Pair("", "1xa10080gbpciesecure"));
}

}  // namespace
}  // namespace claimcheck

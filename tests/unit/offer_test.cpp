// Offers of sellers as files, and the identity claims they are made of.
#include "harness/judge/offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/error.h"
#include "harness/judge/claim.h"
#include "harness/judge/judge.h"
#include "tests/unit/made_results.h"

namespace claimcheck {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class OfferFile : public testing::Test {
 protected:
  Offer read(const std::string& text) {
    file_ = testing::TempDir() + "claimcheck_offer_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
            ".json";
    std::ofstream(file_) << text;
    return read_offer(file_);
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const UserError& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  std::string file_;
};

TEST_F(OfferFile, BecomesClaims) {
  const Offer offer = read(R"({"seller": "Example", "accelerator": "H100 SXM", "accelerators": 8,
    "accelerator_memory_gb": 80, "vcpus": 192, "tflops": {"bf16": 1979, "int8": 3958}, "sparse": true,
    "memory_bandwidth_gbps": 3350, "network_gbit_s": 3200, "network_adapters": 8, "fabric": "InfiniBand",
    "price": "2.49/gpu-hour", "currency": "USD", "term": "spot", "claims": ["memory.triad.gbps>=2900"]})");
  EXPECT_THAT(offer.claims,
              ElementsAre("identity.accelerator==H100 SXM", "identity.accelerator_count==8", "identity.vcpus==192",
                          "identity.accelerator_memory_gb>=80", "gemm.bf16.tflops[peak=yes,sparse=yes]>=1979 TFLOPS",
                          "gemm.int8.tops[peak=yes,sparse=yes]>=3958 TOPS", "memory.read.gbps[peak=yes]>=3350 GB/s",
                          "transport.network==InfiniBand", "network.ib.gbps>=400 Gb/s", "memory.triad.gbps>=2900"));
  EXPECT_EQ(offer.price, "2.49/gpu-hour");
  EXPECT_EQ(offer.term, "spot");
  EXPECT_EQ(read(R"({"price": 98.32})").price, "98.32");
  EXPECT_THAT(read(R"({"network_gbit_s": 400, "fabric": "EFA"})").claims,
              ElementsAre("transport.network==EFA", "network.efa.gbps>=400 Gb/s"));
  EXPECT_THAT(read(R"({"fabric": "RoCE"})").claims, ElementsAre("transport.network==RoCE"));
}

TEST_F(OfferFile, FaultsAreNamed) {
  EXPECT_THAT(refusal(R"({"gpus": 8})"), AllOf(HasSubstr(".json"), HasSubstr("gpus")));
  EXPECT_THAT(refusal(R"({"tflops": {"bf17": 1}})"), HasSubstr("bf17"));
  EXPECT_THAT(refusal(R"({"tflops": {"bf16": -1}})"), HasSubstr("above 0"));
  EXPECT_THAT(refusal(R"({"claims": ["memory.triad.gbs>=1"]})"), HasSubstr("memory.triad.gbps"));
  EXPECT_THAT(refusal(R"({"fabric": "EFB", "network_gbit_s": 1})"), HasSubstr("EFA"));
  EXPECT_THAT(refusal(R"({"sparse": "yes", "tflops": {"bf16": 1}})"), HasSubstr("true or false"));
  EXPECT_THAT(refusal(R"({"network_adapters": 8})"), HasSubstr("network_gbit_s"));
  EXPECT_THAT(refusal("[1]"), HasSubstr(".json"));
  EXPECT_THAT(refusal("{"), HasSubstr(".json"));
}

TEST(IdentityClaim, IsParsed) {
  const Claim name = parse_claim("identity.accelerator == NVIDIA H100 80GB HBM3 ");
  EXPECT_EQ(name.value, "NVIDIA H100 80GB HBM3");
  const Claim count = parse_claim("identity.accelerator_count==8");
  EXPECT_EQ(count.value, 8);
  EXPECT_EQ(count.comparison, "==");
  const Claim memory = parse_claim("identity.ram_gib>=2048");
  EXPECT_EQ(memory.unit, "GiB");
  for (const char* wrong : {"identity.colour==red", "identity.vcpus>=3", "identity.ram_gib==3", "identity.vcpus==x",
                            "identity.accelerator==", "identity.vcpus==3 GB", "transport.network==carrier pigeons",
                            "transport.network>=EFA"})
    EXPECT_THROW(parse_claim(wrong), UserError) << wrong;
}

VerdictKind judged(const Document& document, const std::string& claim) {
  return judge(document, {parse_claim(claim)}, made::catalog()).front().kind;
}

TEST(IdentityClaim, IsJudged) {
  Document document = made::gpu_node();
  EXPECT_EQ(judged(document, "identity.accelerator==NVIDIA H100 SXM5 80GB"), VerdictKind::met);
  EXPECT_EQ(judged(document, "identity.accelerator==H100"), VerdictKind::met);
  EXPECT_EQ(judged(document, "identity.accelerator==A100"), VerdictKind::contradicted);
  EXPECT_EQ(judged(document, "identity.accelerator_count==8"), VerdictKind::met);
  EXPECT_EQ(judged(document, "identity.accelerator_count==4"), VerdictKind::contradicted);
  EXPECT_EQ(judged(document, "identity.accelerator_memory_gb>=80"), VerdictKind::not_measured);
  for (nlohmann::json& device : document.system["devices"]) device["memory_bytes"] = 85.5e9;
  EXPECT_EQ(judged(document, "identity.accelerator_memory_gb>=80"), VerdictKind::met);
  document.system["devices"][3]["memory_bytes"] = 40e9;
  EXPECT_EQ(judged(document, "identity.accelerator_memory_gb>=80"), VerdictKind::contradicted);
}

}  // namespace
}  // namespace claimcheck

// Typical over claimed, worked by hand from the records; and the shipped catalog's own numbers.
#include "harness/catalog/catalog.h"
#include "tests/unit/catalog_fixture.h"

namespace claimcheck {
namespace {

using ::testing::HasSubstr;

nlohmann::json gemm(const std::string& id, const std::string& type, double typical, const std::string& source,
                    const nlohmann::json& conditions = nlohmann::json::object()) {
  nlohmann::json record = SmallCatalog::value(id, "gemm." + type + ".tflops", "TFLOPS", nullptr, typical, conditions);
  record["source"] = {source};
  return record;
}

struct RatioCase {
  SmallCatalog catalog;

  RatioCase() { catalog.at("expected/values.json", "/expected") = nlohmann::json::array(); }
  void add(const nlohmann::json& record) { catalog.at("expected/values.json", "/expected").push_back(record); }
  std::optional<double> of(const std::string& card, const std::string& type) {
    const Catalog loaded = catalog.load();
    basis.clear();
    return typical_ratio(loaded, *loaded.find_accelerator(card), type, &basis);
  }
  std::string basis;
};

TEST(TypicalRatio, IsTheMedianOverSourcesOfEachOnesBest) {
  RatioCase test;
  test.add(gemm("a1", "bf16", 600, "list", {{"shape", "8192x8192x8192"}}));
  test.add(gemm("a2", "bf16", 700, "list", {{"shape", "16384x16384x16384"}}));
  test.add(gemm("b", "bf16", 800, "page", {{"shape", "best"}}));
  // list's best is 700, page's 800: the median of two is 750.
  EXPECT_DOUBLE_EQ(test.of("nvidia-h200-sxm-141", "bf16").value(), 750.0 / 989);
  EXPECT_EQ(test.basis, "nvidia-h200-sxm-141 bf16: typical 750 of 989 claimed (list, page)");
}

TEST(TypicalRatio, SmallShapesAndConstantDataDoNotSpeakWhenOthersDo) {
  RatioCase test;
  test.add(gemm("small", "bf16", 300, "list", {{"shape", "4096x4096x4096"}}));
  test.add(gemm("zeros", "bf16", 950, "list", {{"pattern", "constant"}}));
  test.add(gemm("good", "bf16", 700, "page"));
  EXPECT_DOUBLE_EQ(test.of("nvidia-h200-sxm-141", "bf16").value(), 700.0 / 989);
}

TEST(TypicalRatio, ConstantDataSpeaksAlone) {
  RatioCase test;
  test.add(gemm("zeros", "bf16", 900, "list", {{"pattern", "constant"}}));
  EXPECT_DOUBLE_EQ(test.of("nvidia-h200-sxm-141", "bf16").value(), 900.0 / 989);
  EXPECT_THAT(test.basis, HasSubstr("on constant data"));
}

TEST(TypicalRatio, AnotherTypeThenAnotherCardStandIn) {
  RatioCase test;
  test.add(gemm("fp8", "fp8_e4m3", 1400, "list"));
  EXPECT_DOUBLE_EQ(test.of("nvidia-h200-sxm-141", "bf16").value(), 1400.0 / 1979);
  EXPECT_THAT(test.basis, HasSubstr("no bf16 value; the ratio of nvidia-h200-sxm-141 fp8"));
  EXPECT_DOUBLE_EQ(test.of("nvidia-h100-sxm-80", "fp8_e5m2").value(), 1400.0 / 1979);
  EXPECT_THAT(test.basis, HasSubstr("other Hopper cards (nvidia-h200-sxm-141)"));
}

TEST(TypicalRatio, IsUnknownWithoutClaimOrValue) {
  RatioCase test;
  EXPECT_EQ(test.of("nvidia-h200-sxm-141", "bf16"), std::nullopt);
  test.add(gemm("bf16", "bf16", 700, "list"));
  EXPECT_EQ(test.of("nvidia-h200-sxm-141", "fp4"), std::nullopt) << "no fp4 claim";
  EXPECT_EQ(test.of("nvidia-h200-sxm-141", "fp64"), std::nullopt) << "tensor types do not stand in for fp64";
}

TEST(TypicalRatio, UnusableValuesDoNotCount) {
  RatioCase test;
  nlohmann::json record = gemm("wrong", "bf16", 700, "list");
  record["unusable"] = "of another machine";
  test.add(record);
  EXPECT_EQ(test.of("nvidia-h200-sxm-141", "bf16"), std::nullopt);
}

TEST(DenseClaim, Fp64IsOnTensorCoresAndBothFp8FormatsShareOne) {
  const Catalog catalog = SmallCatalog().load();
  const Accelerator& card = *catalog.find_accelerator("nvidia-h100-sxm-80");
  EXPECT_EQ(dense_claim(card, "fp64"), 67);
  EXPECT_EQ(dense_claim(card, "fp8_e4m3"), 1979);
  EXPECT_EQ(dense_claim(card, "fp8_e5m2"), 1979);
  EXPECT_EQ(dense_claim(card, "int8"), std::nullopt);
}

TEST(TypicalRatio, OfTheShippedCatalog) {
  const Catalog catalog = load_catalog();
  const auto ratio = [&](const char* id, const char* type) {
    return typical_ratio(catalog, *catalog.find_accelerator(id), type).value_or(-1);
  };
  EXPECT_NEAR(ratio("nvidia-h100-sxm-80", "bf16"), 794.5 / 989, 1e-12);  // of 730, 794.5 and 821.2
  EXPECT_NEAR(ratio("nvidia-a100-sxm-80", "bf16"), 270.0 / 312, 1e-12);  // of 267.9, 270 and 271.2
  EXPECT_NEAR(ratio("amd-mi300x", "bf16"), (668.4 + 788.2) / 2 / 1307.4, 1e-12);
  EXPECT_NEAR(ratio("nvidia-l40s", "bf16"), 252.0 / 362, 1e-12);
  EXPECT_EQ(ratio("google-tpu-v4", "bf16"), -1);
  EXPECT_EQ(ratio("huawei-ascend-910b", "bf16"), -1);
}

}  // namespace
}  // namespace claimcheck

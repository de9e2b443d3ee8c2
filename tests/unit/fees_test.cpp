// Fees beside the machine, worked out by hand; and what a training step says about money.
#include "harness/cost/fees.h"

#include "tests/unit/cost_support.h"

namespace claimcheck {
namespace {

using namespace cost_test;

Fee egress() {
  Fee fee;
  fee.id = "aws/egress";
  fee.provider = "aws";
  fee.kind = "egress";
  fee.product = "to the internet";
  fee.free_gb = 100;
  fee.tiers = {{10240, 0.09}, {51200, 0.085}, {std::nullopt, 0.05}};
  fee.currency = "USD";
  fee.date = "2026-01-01";
  fee.sources = {"list"};
  return fee;
}

Fee storage(const std::string& region, double price) {
  Fee fee = egress();
  fee.id = "aws/storage" + region;
  fee.kind = "storage";
  fee.region = region;
  fee.free_gb = 0;
  fee.tiers = {{std::nullopt, price}};
  return fee;
}

TEST(Fees, TiersByHand) {
  EXPECT_DOUBLE_EQ(month_fee(egress(), 0), 0);
  EXPECT_DOUBLE_EQ(month_fee(egress(), 100), 0);
  EXPECT_DOUBLE_EQ(month_fee(egress(), 1100), 90);
  EXPECT_DOUBLE_EQ(month_fee(egress(), 10240), 10140 * 0.09);
  EXPECT_DOUBLE_EQ(month_fee(egress(), 20240), 10140 * 0.09 + 10000 * 0.085);
  EXPECT_DOUBLE_EQ(month_fee(egress(), 61200), 10140 * 0.09 + 40960 * 0.085 + 10000 * 0.05);
  Fee known_to = egress();
  known_to.tiers = {{1000, 0.12}};
  EXPECT_DOUBLE_EQ(month_fee(known_to, 2100), 2000 * 0.12) << "the last price that is known goes on";
}

TEST(Fees, MoreIsNeverCheaper) {
  double before = 0;
  for (double gb = 0; gb < 100000; gb += 777) {
    const double fee = month_fee(egress(), gb);
    EXPECT_GE(fee, before);
    before = fee;
  }
}

TEST(Fees, OfTheRegionFirst) {
  Catalog catalog = made::catalog();
  catalog.fees = {storage("us-west-2", 0.1), storage("", 0.08), storage("us-east-1", 0.07)};
  EXPECT_EQ(fee_of(catalog, "aws", "storage", "us-east-1")->tiers[0].price, 0.07);
  EXPECT_EQ(fee_of(catalog, "aws", "storage", "eu-1")->tiers[0].price, 0.08);
  EXPECT_EQ(fee_of(catalog, "aws", "egress", "eu-1"), nullptr);
  EXPECT_EQ(fee_of(catalog, "gcp", "storage", ""), nullptr);
}

TEST(Fees, ArePartOfTheCost) {
  Catalog catalog = made::catalog();
  catalog.fees = {egress(), storage("", 0.08)};
  CostOptions options = on_a_day();
  options.price = Quote{98.32, "USD", PricedUnit::node_hour};
  options.usage.storage_gb = 7300;
  options.usage.egress_gb = 1100;
  options.usage.hours = 100;
  const json cost = cost_of(p5_measured(), options, catalog);
  const json& row = *row_of(cost, "this machine", "quoted");
  // (7300 x 0.08 + 1000 x 0.09) / 100 = 6.74 an hour; 8 x 700 x 0.9 = 5040 TFLOPS.
  EXPECT_DOUBLE_EQ(row["fees"]["per_hour"], 6.74);
  EXPECT_DOUBLE_EQ(row["per_hour"], 98.32);
  EXPECT_NEAR(row["per_eflop"], (98.32 + 6.74) / (5040 * 0.0036), 1e-9);
  EXPECT_NEAR(cost["results"][0]["claimed_per_eflop"], (98.32 + 6.74) / (7912 * 0.0036), 1e-9);
  EXPECT_NEAR(cost["results"][0]["sensitivity"]["price_plus_10"], (98.32 * 1.1 + 6.74) / (5040 * 0.0036), 1e-9);
  EXPECT_THAT(cost_text(cost), AllOf(HasSubstr("7300 GB kept and 1100 GB sent out a month, over 100 hours"),
                                     HasSubstr("to the internet, 2026-01-01: the list")));
}

TEST(Fees, UnknownOnesHaveNoRankAndTheUsersFillTheGap) {
  CostOptions options = on_a_day();
  options.usage.storage_gb = 1000;
  const json unknown = cost_of(p5_measured(), options);
  for (const json& row : unknown["rows"]) {
    EXPECT_TRUE(row["rank"].is_null()) << row;
    EXPECT_EQ(row["fees"]["missing"], json({"storage"}));
  }
  EXPECT_EQ(unknown["without_fees"], unknown["rows"].size());
  EXPECT_THAT(cost_text(unknown), HasSubstr("Not ranked, because the catalog has no fee of the provider"));
  options.usage.storage_price = 0.73;
  const json known = cost_of(p5_measured(), options);
  EXPECT_DOUBLE_EQ(known["rows"][0]["fees"]["per_hour"], 1);
  EXPECT_FALSE(known["rows"][0]["rank"].is_null());
}

TEST(Fees, NotAskedForAreNotThere) {
  const json cost = cost_of(p5_measured(), on_a_day());
  EXPECT_FALSE(cost["rows"][0].contains("fees"));
  EXPECT_FALSE(cost.contains("usage"));
}

TEST(TrainingCost, AModelFlopCostsMoreByTheMfu) {
  Document document = p5_measured();
  Measurement step = measured("training/preset:1.3b", "training.tflops", "TFLOPS", six(395.6));
  step.conditions["data_type"] = "bf16";
  for (int i = 0; i < 8; ++i) step.devices.push_back({i, "NVIDIA H100 80GB HBM3", 395.6});
  document.measurements.push_back(step);
  CostOptions options = on_a_day();
  options.price = Quote{98.32, "USD", PricedUnit::node_hour};
  const json result = cost_of(document, options)["results"][0];
  const json& training = result["training"];
  EXPECT_DOUBLE_EQ(training["tflops"], 395.6 * 8);
  EXPECT_NEAR(training["mfu"], 0.4, 1e-9);
  const double per_eflop = 98.32 / (395.6 * 8 * 0.0036);
  EXPECT_NEAR(training["per_eflop"], per_eflop, 1e-9);
  EXPECT_NEAR(result["sensitivity"]["mfu_low"]["per_eflop"], per_eflop * 0.4 / 0.35, 1e-9);
  EXPECT_NEAR(result["sensitivity"]["mfu_high"]["per_eflop"], per_eflop * 0.4 / 0.45, 1e-9);
  EXPECT_THAT(cost_text(cost_of(document, options)), HasSubstr("training: 396 TFLOPS x 8 (MFU 40.0 %) -> $8.63"));
}

TEST(TrainingCost, WithoutAStepThereIsNone) {
  const json result = cost_of(p5_measured(), on_a_day())["results"][0];
  EXPECT_TRUE(result["training"].is_null());
  EXPECT_FALSE(result["sensitivity"].contains("mfu_low"));
}

}  // namespace
}  // namespace claimcheck

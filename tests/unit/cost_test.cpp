// Dollars per useful EFLOP on hand-made results and a catalog of three platforms; every figure computed by hand.
#include "tests/unit/cost_support.h"

namespace claimcheck {
namespace {

using namespace cost_test;

TEST(DollarsPerEflop, TheWorkedExample) {
  EXPECT_NEAR(dollars_per_eflop(98.32, 8 * 700 * 0.9), 5.4189, 5e-5);
  EXPECT_NEAR(dollars_per_eflop(98.32, 8 * 989), 3.4519, 5e-5);
}

TEST(DollarsPerEflop, RisesWithThePriceAndFallsWithTheRate) {
  for (double price = 0.01; price < 200; price *= 1.7) {
    for (double tflops = 0.05; tflops < 20000; tflops *= 2.3) {
      const double here = dollars_per_eflop(price, tflops);
      EXPECT_GT(dollars_per_eflop(price * 1.01, tflops), here);
      EXPECT_LT(dollars_per_eflop(price, tflops * 1.01), here);
      EXPECT_NEAR(dollars_per_eflop(price * 2, tflops * 2), here, here * 1e-12);
    }
  }
}

TEST(UsefulRate, SlowestDeviceTimesDevicesTimesScaling) {
  const auto useful = useful_rate(p5_measured()).value();
  EXPECT_EQ(useful.data_type, "bf16");
  EXPECT_EQ(useful.devices, 8);
  EXPECT_DOUBLE_EQ(useful.per_device, 700);
  EXPECT_DOUBLE_EQ(useful.scaling, 0.9) << "of the largest number of ranks";
  EXPECT_DOUBLE_EQ(useful.tflops, 5040);
  EXPECT_FALSE(useful.scaling_assumed);
  EXPECT_EQ(useful.basis,
            "700 TFLOPS (the slowest of 8, gemm.bf16/n:8192, random data) x 8 x 0.900 (scaling measured at 8 ranks)");
}

TEST(UsefulRate, ScalingNotMeasuredIsAnAssumptionThatIsSaid) {
  Document document = p5_measured();
  document.measurements.resize(1);
  const auto useful = useful_rate(document, "", 0.85).value();
  EXPECT_TRUE(useful.scaling_assumed);
  EXPECT_DOUBLE_EQ(useful.tflops, 700 * 8 * 0.85);
  EXPECT_THAT(useful.basis, HasSubstr("scaling assumed"));
}

TEST(UsefulRate, OneDeviceHasNothingToScale) {
  Document document = made::gpu_node();
  json& devices = document.system["devices"];
  devices.erase(devices.begin() + 1, devices.end());
  document.measurements = {made::gemm_bf16(700, 700, 1)};
  EXPECT_DOUBLE_EQ(useful_rate(document)->tflops, 700);
}

TEST(UsefulRate, OneMeasuredOfEight) {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(700, 700, 1), scaling(8, 0.9)};
  const auto useful = useful_rate(document).value();
  EXPECT_EQ(useful.devices, 8);
  EXPECT_THAT(useful.basis, HasSubstr("one was measured, the others are taken for as fast"));
}

TEST(UsefulRate, TheHostIsOneDeviceWithAllItsCores) {
  Document document = made::cpu_machine();
  document.measurements = {on_cpu(measured("gemm.fp64/n:1024", "gemm.fp64.tflops", "TFLOPS", six(0.09))),
                           on_cpu(measured("gemm.fp32/n:1024", "gemm.fp32.tflops", "TFLOPS", six(0.17))),
                           on_cpu(measured("gemm.fp32/n:2048", "gemm.fp32.tflops", "TFLOPS", six(0.19))),
                           scaling(2, 0.5)};
  const auto useful = useful_rate(document).value();
  EXPECT_EQ(useful.data_type, "fp32") << "the fastest of those measured";
  EXPECT_DOUBLE_EQ(useful.tflops, 0.19) << "the best shape, and no scaling factor";
  EXPECT_TRUE(useful.on_host);
  EXPECT_THAT(useful.basis, HasSubstr("all cores at once"));
  EXPECT_DOUBLE_EQ(useful_rate(document, "fp64")->tflops, 0.09);
  EXPECT_FALSE(useful_rate(document, "bf16"));
}

TEST(UsefulRate, Bf16BeatsAFasterType) {
  Document document = p5_measured();
  document.measurements.push_back(measured("gemm.fp16/n:8192", "gemm.fp16.tflops", "TFLOPS", six(900)));
  EXPECT_EQ(useful_rate(document)->data_type, "bf16");
}

TEST(UsefulRate, ZerosAreNotUseful) {
  Document document = p5_measured();
  Measurement zeros = made::gemm_bf16(900, 900);
  zeros.id = "gemm.bf16/zeros";
  zeros.conditions["pattern"] = "zeros";
  document.measurements.push_back(zeros);
  EXPECT_DOUBLE_EQ(useful_rate(document)->per_device, 700);
}

TEST(Cost, AMeasuredNodeAtItsListPrice) {
  const Document document = p5_measured();
  const json cost = cost_of(document, on_a_day());
  // 55.04 / (5040 x 0.0036), and the claim: 55.04 / (8 x 989 x 0.0036)
  const json& result = cost["results"][0];
  EXPECT_NEAR(result["per_eflop"].get<double>(), 3.03351, 1e-5);
  EXPECT_NEAR(result["claimed_per_eflop"].get<double>(), 1.93237, 1e-5);
  EXPECT_NEAR(result["sensitivity"]["price_plus_10"].get<double>(), 3.33686, 1e-5);
  EXPECT_NEAR(result["sensitivity"]["scaling_low"]["per_eflop"].get<double>(), 3.03351 * 0.9 / 0.85, 1e-5);
  const json& row = *row_of(cost, "this machine", "on_demand");
  EXPECT_EQ(row["kind"], "measured");
  EXPECT_DOUBLE_EQ(row["per_hour"].get<double>(), 55.04);
  EXPECT_DOUBLE_EQ(row["per_gpu_hour"].get<double>(), 6.88);
  EXPECT_EQ(row["region"], "us-east-1");
  EXPECT_EQ(row["price"]["as_of"], "2026-07-20");
  EXPECT_EQ(row["price"]["age_days"], 133);
  EXPECT_EQ(row["price"]["stale"], true);
  EXPECT_EQ(row["price"]["source"], "the list");
  EXPECT_NE(row_of(cost, "this machine", "spot"), nullptr) << "every term that is known";
  EXPECT_EQ(row_of(cost, "aws:p5.48xlarge", "on_demand"), nullptr) << "measured, so not estimated as well";
}

TEST(Cost, TheRegionOfTheMachineCounts) {
  Document document = p5_measured();
  document.platform["region"] = "us-west-1";
  EXPECT_DOUBLE_EQ((*row_of(cost_of(document, on_a_day()), "this machine", "on_demand"))["per_hour"].get<double>(),
                   68.80);
}

TEST(Cost, QuotesPerGpuAndPerNodeAreNeverConfused) {
  const Document document = p5_measured();
  CostOptions options = on_a_day();
  options.price = parse_price("2.49/gpu-hour");
  json row = *row_of(cost_of(document, options), "this machine", "quoted");
  EXPECT_DOUBLE_EQ(row["per_hour"].get<double>(), 19.92);
  EXPECT_DOUBLE_EQ(row["per_gpu_hour"].get<double>(), 2.49);
  options.price = parse_price("98.32");
  row = *row_of(cost_of(document, options), "this machine", "quoted");
  EXPECT_DOUBLE_EQ(row["per_hour"].get<double>(), 98.32);
  EXPECT_DOUBLE_EQ(row["per_gpu_hour"].get<double>(), 12.29);
  EXPECT_NEAR(row["per_eflop"].get<double>(), 5.4189, 5e-5);
  EXPECT_EQ(row["price"]["stale"], false);
  EXPECT_EQ(row_of(cost_of(document, options), "this machine", "spot"), nullptr);
}

TEST(Cost, APricePerGpuWithoutGpusIsSaidNotGuessed) {
  Document document = made::cpu_machine();
  document.measurements = {on_cpu(measured("gemm.fp32/n:1024", "gemm.fp32.tflops", "TFLOPS", six(0.2)))};
  CostOptions options = on_a_day();
  options.price = parse_price("2.49/gpu-hour");
  const json cost = cost_of(document, options);
  EXPECT_THAT(cost["results"][0]["note"].get<std::string>(),
              HasSubstr("the number of GPUs is unknown: give --instance, or a price per node-hour"));
  EXPECT_EQ(row_of(cost, "this machine", "quoted"), nullptr);
}

TEST(Cost, AFreeTrialIsPricedAtListAsWell) {
  CostOptions options = on_a_day();
  options.price = parse_price("0");
  const json cost = cost_of(p5_measured(), options);
  const json& free = *row_of(cost, "this machine", "quoted");
  EXPECT_EQ(free["per_eflop"], 0);
  EXPECT_TRUE(free["rank"].is_null());
  EXPECT_EQ(free["note"], "free while the trial lasts");
  const json& list = *row_of(cost, "this machine, at list price", "on_demand");
  EXPECT_NEAR(list["per_eflop"].get<double>(), 3.03351, 1e-5);
  EXPECT_NEAR(cost["results"][0]["per_eflop"].get<double>(), 3.03351, 1e-5) << "the headline costs something";
}

TEST(Cost, ThePriceOfAStoredResultIsTheOneItsUserGave) {
  Document document = p5_measured();
  document.platform["price"] = {{"per_hour", 40.0},    {"currency", "USD"},   {"term", "on_demand"},
                                {"unit", "node-hour"}, {"source", "--price"}, {"as_of", nullptr}};
  EXPECT_NE(row_of(cost_of(document, on_a_day()), "this machine", "quoted"), nullptr);
  document.platform["price"]["source"] = "catalog prices/aws.csv:17 (us-east-1)";
  EXPECT_EQ(row_of(cost_of(document, on_a_day()), "this machine", "quoted"), nullptr) << "the catalog is asked again";
}

TEST(Cost, NoPriceIsSaid) {
  Document document = made::cpu_machine();
  document.measurements = {on_cpu(measured("gemm.fp32/n:1024", "gemm.fp32.tflops", "TFLOPS", six(0.2)))};
  EXPECT_EQ(cost_of(document, on_a_day())["results"][0]["note"],
            "no price is known: give --price, or --instance for the list price");
}

TEST(Cost, TheCatalogRankedByHand) {
  CostOptions options = on_a_day();
  options.rates["CNY"] = 7.1;
  const json cost = cost_json({}, made::catalog(), options);
  std::vector<std::string> order;
  for (const json& row : cost["rows"]) {
    EXPECT_EQ(row["kind"], "estimate");
    order.push_back(row["label"].get<std::string>() + " " + row["term"].get<std::string>());
  }
  EXPECT_THAT(order, ElementsAre("aws:p5.48xlarge spot", "aws:p6-b200.48xlarge on_demand", "aws:p5.48xlarge on_demand",
                                 "acme:x1.small on_demand"));
  // 20 / (800 x 8 x 0.9 x 0.0036), 113.93 / (1800 x 8 x 0.9 x 0.0036), 55.04 / (5760 x 0.0036)
  EXPECT_NEAR(cost["rows"][0]["per_eflop"].get<double>(), 0.96451, 1e-5);
  EXPECT_NEAR(cost["rows"][1]["per_eflop"].get<double>(), 2.44191, 1e-5);
  EXPECT_NEAR(cost["rows"][2]["per_eflop"].get<double>(), 2.65432, 1e-5);
  // median of 800 / 989 and 1800 / 2250 is 0.80445; one device, so no scaling: 1 / (80.445 x 0.0036)
  EXPECT_NEAR(cost["rows"][3]["per_eflop"].get<double>(), 3.45301, 1e-4);
  EXPECT_EQ(cost["rows"][3]["stand_in"], true);
  EXPECT_NEAR(cost["rows"][3]["per_hour"].get<double>(), 1.0, 1e-12);
  EXPECT_EQ(cost["rows"][3]["price"]["per_hour"], 7.1);
  EXPECT_EQ(cost["rows"][2]["rank"], 3);
  EXPECT_THAT(cost["rows"][2]["basis"].get<std::string>(),
              AllOf(HasSubstr("989 dense x 80.9 % typical"), HasSubstr("scaling assumed")));
}

}  // namespace
}  // namespace claimcheck

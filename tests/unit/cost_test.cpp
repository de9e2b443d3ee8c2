// Dollars per useful EFLOP on hand-made results and a catalog of three platforms; every figure computed by hand.
#include "harness/cost/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cost/list_price.h"
#include "harness/error.h"
#include "harness/report/layout.h"
#include "tests/unit/made_results.h"

namespace claimcheck {
namespace {

using made::measured;
using made::on_cpu;
using made::six;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CostOptions on_a_day() {
  CostOptions options;
  options.today = "2026-11-30";
  return options;
}

Measurement scaling(int ranks, double efficiency) {
  Measurement measurement =
      measured("scaling.gemm/ranks:" + std::to_string(ranks), "scaling.gemm.efficiency", "1", six(efficiency));
  measurement.conditions["ranks"] = ranks;
  return measurement;
}

Document p5_measured() {
  Document document = made::gpu_node();
  document.measurements = {made::gemm_bf16(700, 720), scaling(2, 0.97), scaling(8, 0.9)};
  return document;
}

json cost_of(const Document& document, const CostOptions& options, const Catalog& catalog = made::catalog()) {
  return cost_json({{"this machine", &document}}, catalog, options);
}

const json* row_of(const json& cost, const std::string& label, const std::string& term) {
  for (const json& row : cost["rows"]) {
    if (row["label"] == label && row["term"] == term) return &row;
  }
  return nullptr;
}

std::string refusal(const std::vector<PricedResult>& results, const CostOptions& options) {
  try {
    cost_json(results, made::catalog(), options);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

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

TEST(Cost, ACurrencyWithoutARateIsShownAndNotRanked) {
  const json cost = cost_json({}, made::catalog(), on_a_day());
  const json& row = *row_of(cost, "acme:x1.small", "on_demand");
  EXPECT_TRUE(row["rank"].is_null());
  EXPECT_EQ(row["currency"], "CNY");
  EXPECT_EQ(row["per_hour"], 7.1);
  EXPECT_EQ(cost["unconverted"]["CNY"], 1);
  EXPECT_THAT(cost_text(cost), HasSubstr("pass --fx CNY=RATE"));
}

TEST(Cost, AnUndatedRateIsNoRate) {
  Catalog catalog = made::catalog();
  Currency yuan;
  yuan.code = "CNY";
  yuan.per_usd = 7.0;
  catalog.currencies = {yuan};
  EXPECT_TRUE((*row_of(cost_json({}, catalog, on_a_day()), "acme:x1.small", "on_demand"))["rank"].is_null());
  catalog.currencies[0].date = "2026-11-01";
  const json dated = cost_json({}, catalog, on_a_day());
  EXPECT_NEAR((*row_of(dated, "acme:x1.small", "on_demand"))["per_hour"].get<double>(), 7.1 / 7.0, 1e-12);
  CostOptions options = on_a_day();
  options.rates["CNY"] = 7.1;
  EXPECT_NEAR((*row_of(cost_json({}, catalog, options), "acme:x1.small", "on_demand"))["per_hour"].get<double>(), 1.0,
              1e-12)
      << "--fx wins";
}

TEST(Cost, ShownInAnotherCurrency) {
  CostOptions options = on_a_day();
  options.currency = "CNY";
  options.rates["CNY"] = 7.0;
  const json row = *row_of(cost_json({}, made::catalog(), options), "aws:p5.48xlarge", "on_demand");
  EXPECT_EQ(row["currency"], "CNY");
  EXPECT_NEAR(row["per_hour"].get<double>(), 55.04 * 7, 1e-9);
}

TEST(Cost, TermProviderTopAndScaling) {
  CostOptions options = on_a_day();
  options.term = "spot";
  EXPECT_EQ(cost_json({}, made::catalog(), options)["rows"].size(), 1U);
  options = on_a_day();
  options.provider = "acme";
  EXPECT_EQ(cost_json({}, made::catalog(), options)["rows"].size(), 1U);
  options = on_a_day();
  options.top = 1;
  json cost = cost_json({}, made::catalog(), options);
  EXPECT_EQ(cost["hidden_rows"], 2);
  EXPECT_EQ(cost["rows"].size(), 2U) << "one ranked, one without a rate";
  options = on_a_day();
  options.assumed_scaling = 1.0;
  cost = cost_json({}, made::catalog(), options);
  EXPECT_NEAR((*row_of(cost, "aws:p5.48xlarge", "on_demand"))["per_eflop"].get<double>(), 2.65432 * 0.9, 1e-4);
}

TEST(Cost, MeasuredRowsAreAlwaysShown) {
  CostOptions options = on_a_day();
  options.top = 1;
  options.price = parse_price("1000");
  EXPECT_NE(row_of(cost_of(p5_measured(), options), "this machine", "quoted"), nullptr);
}

TEST(Cost, OneInstance) {
  CostOptions options = on_a_day();
  options.instance = "aws:p5.48xlarge";
  const json cost = cost_json({}, made::catalog(), options);
  const json& instance = cost["instance"];
  EXPECT_EQ(instance["id"], "aws:p5.48xlarge");
  ASSERT_EQ(instance["prices"].size(), 3U) << "the price before the cut is history";
  EXPECT_EQ(instance["prices"][0]["per_hour"], 55.04);
  EXPECT_EQ(instance["prices"][1]["region"], "us-west-1");
  EXPECT_EQ(instance["prices"][2]["term"], "spot");
  EXPECT_EQ(instance["unknown_terms"], (json{"reserved_1y", "reserved_3y"}));
  EXPECT_NEAR(instance["useful_tflops"].get<double>(), 5760, 1e-9);
  const std::string text = cost_text(cost);
  EXPECT_THAT(text, AllOf(HasSubstr("$55.04"), HasSubstr("$6.88"), HasSubstr("us-east-1"),
                          HasSubstr("2026-07-20, 133 days old, stale"), HasSubstr("the list"),
                          HasSubstr("reserved 1 y: no price is known"), HasSubstr("$2.65")));
}

TEST(Cost, RefusesWithTheNextStep) {
  CostOptions options = on_a_day();
  options.instance = "aws:p5.48xlarg";
  EXPECT_THAT(refusal({}, options), AllOf(HasSubstr("instance 'aws:p5.48xlarg' is not in the catalog"),
                                          HasSubstr("\"aws:p5.48xlarge\""), HasSubstr("--price")));
  options = on_a_day();
  options.data_type = "bf61";
  EXPECT_THAT(refusal({}, options), HasSubstr("data type 'bf61' is not known: expected fp64"));
  options = on_a_day();
  options.price = parse_price("5");
  EXPECT_THAT(refusal({}, options), HasSubstr("--price needs something to price"));
}

TEST(Cost, AVirtualFigureIsNoPrice) {
  Document document = p5_measured();
  document.is_virtual = true;
  EXPECT_THAT(refusal({{"this machine", &document}}, on_a_day()),
              AllOf(HasSubstr("virtual device"), HasSubstr("--allow-virtual")));
  CostOptions options = on_a_day();
  options.allow_virtual = true;
  EXPECT_NE(row_of(cost_of(document, options), "this machine", "on_demand"), nullptr);
}

TEST(Cost, AnImplausibleRateIsNotPriced) {
  Document document = p5_measured();
  document.measurements[0] = made::gemm_bf16(1500, 1500);
  const json cost = cost_of(document, on_a_day());
  EXPECT_TRUE(cost["results"][0]["useful"].is_null());
  EXPECT_THAT(cost["results"][0]["note"].get<std::string>(), HasSubstr("above what the device can do"));
}

TEST(Cost, OtherResultsStandBesideTheFirst) {
  const Document first = p5_measured();
  Document second = p5_measured();
  second.measurements[0] = made::gemm_bf16(600, 600);
  const json cost = cost_json({{"a.json", &first}, {"b.json", &second}}, made::catalog(), on_a_day());
  const json& a = *row_of(cost, "a.json", "on_demand");
  const json& b = *row_of(cost, "b.json", "on_demand");
  EXPECT_LT(a["rank"].get<int>(), b["rank"].get<int>());
  EXPECT_NEAR(b["per_eflop"].get<double>() / a["per_eflop"].get<double>(), 7.0 / 6.0, 1e-12);
  EXPECT_THAT(cost_text(cost), AllOf(HasSubstr("a.json: useful bf16"), HasSubstr("b.json: useful bf16")));
}

TEST(CostText, FitsAHundredColumns) {
  const std::string text = cost_text(cost_of(p5_measured(), on_a_day()));
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(display_width(text.substr(begin, end - begin)), 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("-> $3.03 per EFLOP (claimed: $1.93)"), HasSubstr("5.04 PFLOPS"),
                          HasSubstr("price -10 % $2.73, +10 % $3.34; at scaling 0.850 $3.21, 0.950 $2.87"),
                          HasSubstr("measured"), HasSubstr("estimate")));
  EXPECT_EQ(cost_text(nullptr), "");
}

TEST(ListPrices, TheLatestOfEachRegionAndTerm) {
  const Catalog catalog = made::catalog();
  const auto prices = list_prices(catalog, catalog.platforms[0]);
  ASSERT_EQ(prices.size(), 3U);
  EXPECT_DOUBLE_EQ(prices[0].per_node, 55.04);
  EXPECT_DOUBLE_EQ(prices[0].per_gpu.value(), 6.88);
}

TEST(ListPrices, PerGpuPricesAreMultipliedAndYieldToTheNodesOwn) {
  Catalog catalog = made::catalog();
  Price per_gpu = made::price("aws:p6-b200.48xlarge", "us-east-1", "spot", 5, "2026-11-01");
  per_gpu.unit = "gpu-hour";
  catalog.prices.push_back(per_gpu);
  per_gpu.term = "on_demand";
  per_gpu.per_hour = 1;
  catalog.prices.push_back(per_gpu);
  const auto prices = list_prices(catalog, catalog.platforms[1]);
  ASSERT_EQ(prices.size(), 2U);
  EXPECT_EQ(prices[0].term, "on_demand");
  EXPECT_DOUBLE_EQ(prices[0].per_node, 113.93) << "not 8 x 1";
  EXPECT_EQ(prices[1].term, "spot");
  EXPECT_DOUBLE_EQ(prices[1].per_node, 40);
  EXPECT_DOUBLE_EQ(prices[1].per_gpu.value(), 5);
}

TEST(ListPrices, MonthlyPricesBecomeHourly) {
  Catalog catalog = made::catalog();
  Price monthly = made::price("acme:x1.small", "cn-1", "monthly_prepaid", 0, "2026-11-01", "CNY");
  monthly.per_hour = std::nullopt;
  monthly.per_month = 3650;
  catalog.prices.push_back(monthly);
  const auto prices = list_prices(catalog, catalog.platforms[2]);
  ASSERT_EQ(prices.size(), 2U);
  EXPECT_DOUBLE_EQ(prices[1].per_node, 5);
}

TEST(ListPrices, LowConfidenceOnlyWhereNothingBetterIsKnown) {
  Catalog catalog = made::catalog();
  Price artefact = made::price("aws:p5.48xlarge", "ap-1", "spot", 7.6);
  artefact.confidence = "low";
  catalog.prices.push_back(artefact);
  auto cheapest = cheapest_by_term(list_prices(catalog, catalog.platforms[0]));
  ASSERT_EQ(cheapest.size(), 2U);
  EXPECT_DOUBLE_EQ(cheapest[1].per_node, 20);
  catalog.prices.erase(catalog.prices.begin() + 3);
  cheapest = cheapest_by_term(list_prices(catalog, catalog.platforms[0]));
  EXPECT_DOUBLE_EQ(cheapest[1].per_node, 7.6);
}

TEST(Terms, TheGuidesExample) {
  const json terms = terms_json(parse_price("28"), parse_price("12"), 3);
  EXPECT_EQ(terms["on_demand_total"], 735840);
  EXPECT_EQ(terms["reserved_total"], 315360);
  const std::string text = terms_text(terms);
  EXPECT_THAT(text, AllOf(HasSubstr("$735,840"), HasSubstr("$315,360"), HasSubstr("saves 57.1 %"),
                          HasSubstr("below 42.9 % utilisation on demand is cheaper")));
}

TEST(Terms, ReservedCanBeDearer) {
  const std::string text = terms_text(terms_json(parse_price("10"), parse_price("12"), 1));
  EXPECT_THAT(text, AllOf(HasSubstr("reserved costs 20.0 % more"), HasSubstr("on demand is never dearer"),
                          Not(HasSubstr("saves"))));
}

TEST(Terms, RefuseWhatCannotBeCompared) {
  EXPECT_THROW(terms_json(parse_price("28"), parse_price("12/gpu-hour"), 3), UserError);
  EXPECT_THROW(terms_json(parse_price("28"), parse_price("12 CNY"), 3), UserError);
  EXPECT_THROW(terms_json(parse_price("0"), parse_price("12"), 3), UserError);
  EXPECT_THROW(terms_json(parse_price("28"), parse_price("12"), 0), UserError);
}

}  // namespace
}  // namespace claimcheck

// Cost tables: what is priced, ranked, shown and said of it; every figure computed by hand.
#include "tests/unit/cost_support.h"

namespace claimcheck {
namespace {

using namespace cost_test;

TEST(Cost, ACurrencyWithoutARateIsShownAndNotRanked) {
  const json cost = cost_json({}, made::catalog(), on_a_day());
  const json& row = *row_of(cost, "acme:x1.small", "on_demand");
  EXPECT_TRUE(row["rank"].is_null());
  EXPECT_EQ(row["currency"], "CNY");
  EXPECT_EQ(row["per_hour"], 7.1);
  EXPECT_EQ(cost["unconverted"]["CNY"], 1);
  EXPECT_THAT(cost_text(cost), HasSubstr("pass --fx CNY=RATE"));
}

TEST(Useful, OfARunOverSeveralNodesOneIsPriced) {
  Document document = made::gpu_node();
  json devices = json::array();
  for (int i = 0; i < 16; ++i)
    devices.push_back({{"index", i}, {"name", "NVIDIA H100 80GB HBM3"}, {"facts", {{"node", i / 8}, {"process", i}}}});
  document.system["devices"] = devices;
  document.measurements = {made::gemm_bf16(700, 700, 1)};
  document.measurements[0].conditions.update({{"ranks", 16}, {"processes", 16}, {"nodes", 2}});
  const auto useful = useful_rate(document, "bf16", 0.9);
  ASSERT_TRUE(useful.has_value());
  EXPECT_EQ(useful->devices, 8);
  EXPECT_NEAR(useful->tflops, 700 * 8 * 0.9, 1e-9);
  EXPECT_THAT(useful->basis, HasSubstr("the slowest of 16"));
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

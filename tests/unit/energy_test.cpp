// Energy of a useful EFLOP, and the share of the FLOPs paid for that are useful. Values by hand.
#include "harness/cost/energy.h"

#include "tests/unit/cost_support.h"

namespace claimcheck::cost_test {
namespace {

Document with_power(double watts) {
  Document document = p5_measured();
  for (Measurement& measurement : document.measurements) {
    if (measurement.metric != "gemm.bf16.tflops") continue;
    measurement.evidence["devices"] = json::array();
    for (int i = 0; i < 8; ++i) measurement.evidence["devices"].push_back({{"power_w", watts}});
  }
  return document;
}

json first_result(const Document& document, const CostOptions& options) {
  return cost_of(document, options)["results"][0];
}

TEST(Energy, OfAnEflop) {
  // 8 x 700 TFLOPS at 90 %: 5040; 8 x 630 W = 5040 W: 1 J for 1e12 operations, 1 MJ or 0.2778 kWh an EFLOP.
  CostOptions options = on_a_day();
  options.kwh_price = 0.18;
  options.pue = 1.25;
  const json energy = first_result(with_power(630), options)["energy"];
  EXPECT_DOUBLE_EQ(energy["watts"], 5040);
  EXPECT_DOUBLE_EQ(energy["joules_per_eflop"], 1e6);
  EXPECT_DOUBLE_EQ(energy["kwh_per_eflop"], 1 / 3.6);
  EXPECT_DOUBLE_EQ(energy["money_per_eflop"], 1 / 3.6 * 1.25 * 0.18);
}

TEST(Energy, WithoutAPriceThereIsNoMoney) {
  EXPECT_TRUE(first_result(with_power(630), on_a_day())["energy"]["money_per_eflop"].is_null());
}

TEST(Energy, OfSomeDevicesSaysNothing) {
  Document document = with_power(630);
  for (Measurement& measurement : document.measurements)
    if (measurement.evidence.contains("devices")) measurement.evidence["devices"][3]["power_w"] = nullptr;
  EXPECT_TRUE(first_result(document, on_a_day())["energy"].is_null());
  EXPECT_TRUE(first_result(p5_measured(), on_a_day())["energy"].is_null());
}

TEST(Energy, IsInTheText) {
  CostOptions options = on_a_day();
  options.kwh_price = 0.18;
  const Document document = with_power(630);
  EXPECT_THAT(cost_text(cost_of(document, options)),
              AllOf(HasSubstr("5040 W of 8 devices"), HasSubstr("1.00 MJ"), HasSubstr("FLOPs paid for are useful")));
}

TEST(UsefulShare, OfTheFlopsPaidFor) {
  const json result = first_result(p5_measured(), on_a_day());
  EXPECT_DOUBLE_EQ(result["useful_share"], 5040.0 / result["claimed_tflops"].get<double>());
}

}  // namespace
}  // namespace claimcheck::cost_test

// What must hold of every price: there and back between currencies, dearer never cheaper per EFLOP, faster never
// dearer, a payment at the start spread over the term.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "tests/unit/cost_support.h"

namespace claimcheck {
namespace {

using namespace cost_test;

double uniform(std::mt19937& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
}

TEST(CostProperties, CurrenciesThereAndBack) {
  std::mt19937 random(11);
  for (int i = 0; i < 500; ++i) {
    const Rates rates = {{"CNY", uniform(random, 0.01, 200)}, {"EUR", uniform(random, 0.5, 2)}};
    const double amount = uniform(random, 0.001, 1e5);
    for (const auto& [from, to] : {std::pair{"USD", "CNY"}, {"CNY", "EUR"}, {"EUR", "USD"}, {"CNY", "CNY"}}) {
      const auto there = exchange(amount, from, to, rates);
      ASSERT_TRUE(there);
      EXPECT_NEAR(exchange(*there, to, from, rates).value(), amount, 1e-12 * amount);
    }
    // By way of a third currency it is the same.
    EXPECT_NEAR(*exchange(*exchange(amount, "CNY", "USD", rates), "USD", "EUR", rates),
                *exchange(amount, "CNY", "EUR", rates), 1e-9 * amount);
  }
  EXPECT_FALSE(exchange(1, "USD", "GBP", {}));
}

TEST(CostProperties, PricesReadBackAsWritten) {
  std::mt19937 random(12);
  for (int i = 0; i < 500; ++i) {
    const double amount = std::round(uniform(random, 0.01, 1e5) * 1e6) / 1e6;
    const std::string text = fmt::format("{}", amount);
    EXPECT_EQ(parse_price(text).amount, amount);
    EXPECT_EQ(parse_price("$" + text + "/gpu-hour").amount, amount);
    EXPECT_EQ(parse_price(text + " CNY").currency, "CNY");
  }
}

// The whole way: document, catalog, table.
TEST(CostProperties, DearerIsNeverCheaperPerEflopAndFasterNeverDearer) {
  std::mt19937 random(13);
  for (int i = 0; i < 60; ++i) {
    const double price = uniform(random, 1, 200);
    const double rate = uniform(random, 100, 800);
    const auto per_eflop = [](double hour, double tflops) {
      Document document = made::gpu_node();
      document.measurements = {made::gemm_bf16(tflops, tflops * 1.02), scaling(8, 0.9)};
      CostOptions options = on_a_day();
      options.price = Quote{hour, "USD", PricedUnit::node_hour};
      const json cost = cost_of(document, options);
      return cost["results"][0]["per_eflop"].get<double>();
    };
    const double base = per_eflop(price, rate);
    EXPECT_GT(base, 0);
    EXPECT_GT(per_eflop(price * uniform(random, 1.001, 3), rate), base);
    EXPECT_LT(per_eflop(price, rate * uniform(random, 1.001, 1.2)), base);
    EXPECT_NEAR(per_eflop(price * 2, rate), 2 * base, 1e-9 * base);
  }
}

TEST(CostProperties, AnUpfrontPaymentIsSpreadOverTheTerm) {
  // 70,080 at the start of a year of 8,760 hours is 8 an hour.
  EXPECT_DOUBLE_EQ(effective_hourly(70080, 4, 1), 12);
  EXPECT_DOUBLE_EQ(effective_hourly(0, 4, 3), 4);
  EXPECT_DOUBLE_EQ(effective_hourly(262800, 0, 3), 10);
  const json terms = terms_json(parse_price("28"), parse_price("4"), 1, 70080);
  EXPECT_DOUBLE_EQ(terms["reserved_per_hour"].get<double>(), 12);
  EXPECT_DOUBLE_EQ(terms["reserved_total"].get<double>(), 105120);
  EXPECT_NEAR(terms["saving"].get<double>(), 1 - 12.0 / 28, 1e-12);
  EXPECT_THAT(terms_text(terms), HasSubstr("$70,080 paid upfront is spread over the hours of the term"));
  std::mt19937 random(14);
  for (int i = 0; i < 200; ++i) {
    const double upfront = uniform(random, 0, 1e6);
    const double hourly = uniform(random, 0, 100);
    const double years = 1 + static_cast<double>(random() % 3);
    // Total against total: what is paid in the term is the effective price times its hours.
    EXPECT_NEAR(effective_hourly(upfront, hourly, years) * years * 8760, upfront + hourly * years * 8760, 1e-6);
  }
}

TEST(CostProperties, EachPaymentOptionIsAPriceOfItsOwn) {
  Catalog catalog = made::catalog();
  for (const auto& [payment, amount] : {std::pair{"no_upfront", 39.2}, {"all_upfront", 36.7}}) {
    Price price = made::price("aws:p5.48xlarge", "us-east-1", "reserved_1y", amount, "2026-11-01");
    price.payment = payment;
    catalog.prices.push_back(price);
  }
  const auto prices = list_prices(catalog, catalog.platforms[0]);
  std::vector<std::string> reserved;
  for (const ListPrice& price : prices) {
    if (price.term == "reserved_1y") reserved.push_back(term_text(price.term, price.payment));
  }
  EXPECT_THAT(reserved, ElementsAre("1 y all upfront", "1 y no upfront"));
  const auto cheapest = cheapest_by_term(prices);
  EXPECT_DOUBLE_EQ(cheapest.back().per_node, 36.7);
}

}  // namespace
}  // namespace claimcheck

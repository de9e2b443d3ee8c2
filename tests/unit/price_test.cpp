// Prices as people quote them, currencies, terms and dates.
#include "harness/cost/price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cost/money.h"
#include "harness/error.h"

namespace claimcheck {
namespace {

using testing::HasSubstr;

template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(ParsePrice, IsPerNodeHourUnlessItSaysOtherwise) {
  const struct {
    const char* text;
    double amount;
    const char* currency;
    PricedUnit unit;
  } rows[] = {
      {"98.32", 98.32, "USD", PricedUnit::node_hour},
      {"0", 0, "USD", PricedUnit::node_hour},
      {"98.32/node-hour", 98.32, "USD", PricedUnit::node_hour},
      {"98.32/hour", 98.32, "USD", PricedUnit::node_hour},
      {"98.32/h", 98.32, "USD", PricedUnit::node_hour},
      {"98.32 / machine-hour", 98.32, "USD", PricedUnit::node_hour},
      {"2.49/gpu-hour", 2.49, "USD", PricedUnit::gpu_hour},
      {"$2.49/gpu-h", 2.49, "USD", PricedUnit::gpu_hour},
      {"2.49/GPU/hour", 2.49, "USD", PricedUnit::gpu_hour},
      {"3.22/chip-hour", 3.22, "USD", PricedUnit::gpu_hour},
      {"US$ 98.32", 98.32, "USD", PricedUnit::node_hour},
      {"\u00A528/hour", 28, "CNY", PricedUnit::node_hour},
      {"\uFFE528/hour", 28, "CNY", PricedUnit::node_hour},
      {"28 CNY/hour", 28, "CNY", PricedUnit::node_hour},
      {"CNY 28", 28, "CNY", PricedUnit::node_hour},
      {"\u20AC3.10/gpu-hour", 3.10, "EUR", PricedUnit::gpu_hour},
      {"3.10\u20AC", 3.10, "EUR", PricedUnit::node_hour},
      {"1,234.50", 1234.5, "USD", PricedUnit::node_hour},
      {"12,345,678", 12345678, "USD", PricedUnit::node_hour},
      {" 98.32 ", 98.32, "USD", PricedUnit::node_hour},
  };
  for (const auto& row : rows) {
    const Quote quote = parse_price(row.text);
    EXPECT_DOUBLE_EQ(quote.amount, row.amount) << row.text;
    EXPECT_EQ(quote.currency, row.currency) << row.text;
    EXPECT_EQ(quote.unit, row.unit) << row.text;
  }
}

TEST(ParsePrice, TheCurrencyOptionCountsWhereTheTextIsSilent) {
  EXPECT_EQ(parse_price("28", "CNY").currency, "CNY");
  EXPECT_EQ(parse_price("$28", "CNY").currency, "USD");
  EXPECT_EQ(parse_price("\u00A528", "JPY").currency, "JPY");
  EXPECT_EQ(parse_price("\u00A528", "USD").currency, "CNY");
}

TEST(ParsePrice, RefusesWhatCanBeReadTwoWays) {
  const struct {
    const char* text;
    const char* sentence;
  } rows[] = {
      {"", "there is no amount"},
      {"$", "there is no amount"},
      {"cheap", "'cheap' is not an amount"},
      {"12,50", "the commas in '12,50' do not separate thousands"},
      {"1.234,56", "'1.234,56' is not an amount"},
      {",500", "the commas in ',500' do not separate thousands"},
      {"1234,567", "the commas in '1234,567' do not separate thousands"},
      {"-3", "a price is not negative"},
      {"nan", "'nan' is not an amount"},
      {"inf", "'inf' is not an amount"},
      {"3/month", "'month' is not a unit known here (gpu-hour or node-hour)"},
      {"3/gpu", "'gpu' does not say per hour (gpu-hour or node-hour)"},
      {"3/", "'' does not say per hour"},
      {"3/hour-gpu", "'hour-gpu' is not a unit known here"},
      {"3 usd", "'3 usd' is not an amount"},
  };
  for (const auto& row : rows) {
    const std::string said = refusal([&] { parse_price(row.text); });
    EXPECT_THAT(said, HasSubstr(row.sentence)) << row.text;
    EXPECT_THAT(said, HasSubstr("98.32, $98.32/node-hour or 2.49/gpu-hour")) << row.text;
  }
}

TEST(Rates, AreUnitsPerDollar) {
  Rates rates;
  add_rate(rates, "CNY=7.1");
  add_rate(rates, "EUR = 0.9");
  add_rate(rates, "USD=1");
  EXPECT_DOUBLE_EQ(exchange(71, "CNY", "USD", rates).value(), 10);
  EXPECT_DOUBLE_EQ(exchange(10, "USD", "CNY", rates).value(), 71);
  EXPECT_DOUBLE_EQ(exchange(71, "CNY", "EUR", rates).value(), 9);
  EXPECT_DOUBLE_EQ(exchange(5, "JPY", "JPY", {}).value(), 5);
  EXPECT_FALSE(exchange(5, "JPY", "USD", rates));
  EXPECT_FALSE(exchange(5, "USD", "JPY", rates));
}

TEST(Rates, RefuseWhatIsNoRate) {
  Rates rates;
  for (const char* text : {"CNY", "CNY=", "CNY=x", "=7", "cny=7", "CNY=0", "CNY=-1", "CNY=inf", "CNY=7 x", ""}) {
    EXPECT_THAT(refusal([&] { add_rate(rates, text); }),
                HasSubstr("expected a currency code and its units per US dollar, such as CNY=7.1"))
        << text;
  }
  EXPECT_THAT(refusal([&] { add_rate(rates, "USD=2"); }), HasSubstr("USD is always 1"));
  EXPECT_TRUE(rates.empty());
}

// The guides' example: 28 against 12 an hour over three years.
TEST(CompareTerms, TotalAgainstTotal) {
  const TermComparison comparison = compare_terms(28, 12, 3);
  EXPECT_DOUBLE_EQ(comparison.on_demand_total, 735840);
  EXPECT_DOUBLE_EQ(comparison.reserved_total, 315360);
  EXPECT_NEAR(comparison.saving, 0.5714285714285714, 1e-15);
  EXPECT_NEAR(comparison.break_even_utilisation, 0.42857142857142855, 1e-15);
}

TEST(CompareTerms, TheSavingDoesNotDependOnTheYears) {
  for (const double years : {0.5, 1.0, 3.0, 10.0}) {
    EXPECT_DOUBLE_EQ(compare_terms(28, 12, years).saving, compare_terms(28, 12, 1).saving);
  }
}

TEST(Dates, AgeInDays) {
  EXPECT_EQ(days_between("2026-07-20", "2026-11-30"), 133);
  EXPECT_EQ(days_between("2026-11-30", "2026-11-30"), 0);
  EXPECT_EQ(days_between("2024-02-28", "2024-03-01"), 2);
  EXPECT_EQ(days_between("2025-02-28", "2025-03-01"), 1);
  EXPECT_EQ(days_between("2025-05", "2025-06-01"), 31) << "a month: its first day";
  EXPECT_EQ(days_between("2024", "2025-01-01"), 366) << "a year: its first day";
  EXPECT_EQ(days_between("2026-12-01", "2026-11-30"), -1);
  for (const char* text :
       {"", "yesterday", "2026-13-01", "2026-02-30", "26-01-01", "2026-1-1", "2026-01-01-01", "2026-"}) {
    EXPECT_FALSE(days_between(text, "2026-11-30")) << text;
  }
}

TEST(Money, AsPeopleReadIt) {
  EXPECT_EQ(price_text(21.957642, "USD"), "$21.957642");
  EXPECT_EQ(price_text(98.32, "USD"), "$98.32");
  EXPECT_EQ(price_text(28, "CNY"), "28.00 CNY");
  EXPECT_EQ(price_text(2.74470525, "USD"), "$2.744705");
  EXPECT_EQ(money_text(5.424, "USD"), "$5.42");
  EXPECT_EQ(money_text(0.0123, "USD"), "$0.012");
  EXPECT_EQ(money_text(142.78, "USD"), "$142.78");
  EXPECT_EQ(total_text(735840, "USD"), "$735,840");
  EXPECT_EQ(total_text(999, "USD"), "$999");
  EXPECT_EQ(total_text(1000, "CNY"), "1,000 CNY");
}

}  // namespace
}  // namespace claimcheck

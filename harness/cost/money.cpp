#include "harness/cost/money.h"

#include <fmt/format.h>

#include <cmath>

namespace claimcheck {
namespace {

std::string with_currency(const std::string& number, const std::string& currency) {
  return currency == "USD" ? "$" + number : number + " " + currency;
}

std::string grouped(const std::string& digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

std::string amount_text(double amount) {
  if (amount == 0 || amount >= 10000) return grouped(fmt::format("{:.0f}", amount));
  return amount >= 0.1 ? fmt::format("{:.2f}", amount) : fmt::format("{:.2g}", amount);
}

std::string money_text(double amount, const std::string& currency) {
  return with_currency(amount_text(amount), currency);
}

std::string price_text(double amount, const std::string& currency) {
  std::string number = fmt::format("{:.6f}", amount);
  number.erase(number.find_last_not_of('0') + 1);
  const std::size_t decimals = number.size() - number.find('.') - 1;
  if (decimals < 2) number.append(2 - decimals, '0');
  return with_currency(number, currency);
}

std::string total_text(double amount, const std::string& currency) {
  return with_currency(grouped(fmt::format("{:.0f}", std::abs(amount))), currency);
}

}  // namespace claimcheck

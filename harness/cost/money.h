// Money as people read it.
#pragma once

#include <string>

namespace claimcheck {

// "5.42", "0.012", "78,586": for columns whose heading names the currency.
std::string amount_text(double amount);

// "$5.42", "28.00 CNY".
std::string money_text(double amount, const std::string& currency);

// A price as it is quoted, with all its digits, two decimals at least: "$21.957642", "$98.32", "$28.00".
std::string price_text(double amount, const std::string& currency);

// Whole units with thousands separated: "$735,840".
std::string total_text(double amount, const std::string& currency);

}  // namespace claimcheck

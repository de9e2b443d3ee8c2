#include "harness/cli/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <vector>

#include "harness/error.h"

namespace claimcheck::cli {

void check_range(const char* option, double value, double least, double most, const char* what) {
  if (value >= least && value <= most) return;
  throw UserError(fmt::format("{} {}: expected {} (from {} to {})", option, value, what, least, most));
}

double parse_gigabytes(const std::string& text, const char* option) {
  static const std::map<std::string, double> units = {
      {"MB", 1e-3}, {"GB", 1}, {"TB", 1e3}, {"PB", 1e6}, {"GiB", 1.073741824}, {"TiB", 1099.511627776}};
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  std::string unit(static_cast<const char*>(end), text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? 0 : unit.find_first_not_of(' '));
  const auto found = units.find(unit);
  if (error == std::errc() && found != units.end() && amount > 0 && amount * found->second <= 1e12)
    return amount * found->second;
  throw UserError(
      fmt::format("{} '{}': expected a size with its unit (MB, GB, TB, PB, GiB, TiB), such as 20TB", option, text));
}

double parse_share(const std::string& text, const char* option) {
  double amount = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, amount);
  std::string unit(static_cast<const char*>(end), last);
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  // A bare 5 is five percent to some and five times to others.
  const bool percent = unit == "%" && amount <= 100;
  if (error == std::errc() && amount >= 0 && (percent || (unit.empty() && amount < 1)))
    return percent ? amount / 100 : amount;
  throw UserError(fmt::format("{} '{}': expected a share such as 5% or 0.05", option, text));
}

std::string checked_term(std::string term) {
  std::replace(term.begin(), term.end(), '-', '_');
  const std::vector<std::string> terms = {"on_demand", "spot", "reserved_1y", "reserved_3y"};
  if (term.empty() || std::find(terms.begin(), terms.end(), term) != terms.end()) return term;
  throw UserError(fmt::format("--term '{}': expected on_demand, spot, reserved_1y or reserved_3y", term));
}

std::string checked_currency(const std::string& currency) {
  const bool code = currency.size() == 3 &&
                    std::all_of(currency.begin(), currency.end(), [](unsigned char c) { return std::isupper(c) != 0; });
  if (code) return currency;
  throw UserError(fmt::format("--currency '{}': expected an ISO code such as USD, CNY or EUR", currency));
}

void check_provider(const std::string& provider, const Catalog& catalog) {
  if (provider.empty()) return;
  std::vector<std::string> providers;
  for (const Platform& platform : catalog.platforms) {
    if (platform.provider == provider) return;
    if (std::find(providers.begin(), providers.end(), platform.provider) == providers.end()) {
      providers.push_back(platform.provider);
    }
  }
  throw UserError(
      fmt::format("--provider '{}' is not in the catalog: expected one of {}", provider, fmt::join(providers, ", ")));
}

}  // namespace claimcheck::cli

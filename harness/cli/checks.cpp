#include "harness/cli/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "harness/error.h"

namespace claimcheck::cli {

void check_range(const char* option, double value, double least, double most, const char* what) {
  if (value >= least && value <= most) return;
  throw UserError(fmt::format("{} {}: expected {} (from {} to {})", option, value, what, least, most));
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

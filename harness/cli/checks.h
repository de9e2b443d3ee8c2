// What several commands ask of their options. Each throws UserError naming the option, what it had and what was
// expected.
#pragma once

#include <string>

#include "harness/catalog/catalog.h"

namespace claimcheck::cli {

void check_range(const char* option, double value, double least, double most, const char* what);

// Gigabytes (1e9 bytes) of "20TB", "500 GB", "2TiB".
double parse_gigabytes(const std::string& text, const char* option);

// A share from "5%", "5 %" or "0.05".
double parse_share(const std::string& text, const char* option);

// on_demand, spot, reserved_1y, reserved_3y, or empty for all; '-' counts as '_'.
std::string checked_term(std::string term);

// An ISO code.
std::string checked_currency(const std::string& currency);

// A provider of the catalog, or empty.
void check_provider(const std::string& provider, const Catalog& catalog);

}  // namespace claimcheck::cli

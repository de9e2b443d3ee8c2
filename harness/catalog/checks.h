// The rules of `claimcheck catalog check`, one family a file. Each adds what it finds; docs/catalog.md explains them.
#pragma once

#include <string>
#include <vector>

#include "harness/catalog/catalog.h"

namespace claimcheck::catalog_checks {

using Problems = std::vector<CatalogProblem>;

// `place` as records carry it: "prices/aws.csv:17" or "platforms/aws.json /platforms/3".
void refuse(Problems& problems, const std::string& place, const std::string& text);
// Listed, not refused.
void dispute(Problems& problems, const std::string& place, const std::string& text);

// Duplicate ids, ids that nothing has, names that mean two things.
void check_ids(const Catalog& catalog, Problems& problems);
void check_references(const Catalog& catalog, Problems& problems);

// A factor 5 off its peers, spot against on-demand; the same price twice.
void check_prices(const Catalog& catalog, Problems& problems);

// A provider that nobody knows, a price of a GB that is one of a TB.
void check_fees(const Catalog& catalog, Problems& problems);

// Floors that no healthy machine reaches or that cannot fail, values above a physical ceiling.
void check_expected(const Catalog& catalog, Problems& problems);

// What sources say against each other.
void list_disputes(const Catalog& catalog, Problems& problems);

}  // namespace claimcheck::catalog_checks

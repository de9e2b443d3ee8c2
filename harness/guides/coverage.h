// What is covered of what is sold and of what the guides name: docs/coverage.md, generated. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/catalog/catalog.h"

namespace claimcheck::guides {

// {schema_version, kind: "coverage", platforms[{id, accelerator, count, identified, measured, claims, statements,
// expected, prices{terms[], newest}, gaps[]}], systems[{name, owner, covered_by, how, guides[]}], totals{}}. Free of
// today's date, so that the page changes with the catalog only.
nlohmann::json coverage_json(const Catalog& catalog);

// docs/coverage.md.
std::string coverage_markdown(const nlohmann::json& coverage);

}  // namespace claimcheck::guides

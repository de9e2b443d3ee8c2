// What becomes of the catalog when the prices of an import join it. A price with a source is never overwritten: a newer
// one is put beside it (the catalog keeps the history), an older or undated one is not taken, unless --replace says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/catalog.h"
#include "harness/catalog/import/collect.h"

namespace claimcheck::catalog_import {

struct Joined {
  Price price;
  Place place;
  std::optional<Price> before;  // the catalog's, where it had one
  std::string why;              // of what is kept: why the catalog's price stays
};

struct Merged {
  std::vector<Joined> added;      // the catalog had no price
  std::vector<Joined> changed;    // newer, and another price than before, which stays as history
  std::vector<Joined> confirmed;  // newer, and the same price
  std::vector<Joined> replaced;   // asked for with --replace: the one before goes
  std::vector<Joined> kept;       // the catalog's stays
  std::vector<std::string> gone;  // places of lines that go: "prices/aws.csv:17", replaced or "unknown" until now
};

// Ordered by provider, machine, term, payment, region, date. Refused prices are listed in `collected`. `replace`:
// patterns of "provider:instance" with * and ?.
Merged merge(const Catalog& catalog, Collected& collected, const std::vector<std::string>& replace);

// Id of the source record of a list.
std::string source_id(const Feed& feed);

// Whether `text` fits `pattern`, in which * stands for any text and ? for one character.
bool fits_pattern(std::string_view text, std::string_view pattern);

}  // namespace claimcheck::catalog_import

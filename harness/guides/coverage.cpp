#include "harness/guides/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/cost/list_price.h"
#include "harness/judge/judge.h"
#include "harness/judge/machine.h"
#include "harness/probe/probe.h"

namespace claimcheck::guides {
namespace {

using nlohmann::json;

std::string measured(const Accelerator* card) {
  if (card == nullptr) return "unknown accelerator";
  return card->vendor == "NVIDIA" ? "own worker" : "catalog only";
}

json prices(const Platform& platform, const Catalog& catalog) {
  std::set<std::string> terms;
  std::string newest;
  for (const ListPrice& price : list_prices(catalog, platform)) {
    terms.insert(price.term);
    newest = std::max(newest, price.as_of);
  }
  return {{"terms", terms}, {"newest", newest.empty() ? json(nullptr) : json(newest)}};
}

int statements_about(const Platform& platform, const Catalog& catalog) {
  if (!catalog.guide_claims.is_object()) return 0;
  const json& claims = catalog.guide_claims.at("claims");
  return static_cast<int>(std::count_if(claims.begin(), claims.end(), [&](const json& claim) {
    const json& about = claim.at("about");
    return std::find(about.begin(), about.end(), platform.id) != about.end();
  }));
}

int expected_of(const Platform& platform, const Catalog& catalog) {
  return static_cast<int>(std::count_if(catalog.expected.begin(), catalog.expected.end(), [&](const Expected& record) {
    return record.platform == platform.id || (record.platform.empty() && record.accelerator == platform.accelerator);
  }));
}

json gaps(const Platform& platform, const Accelerator* card, const json& row) {
  json found = json::array();
  if (card == nullptr) found.push_back("accelerator");
  if (!platform.accelerator_count) found.push_back("count");
  if (!platform.network_gbps) found.push_back("network");
  if (row.at("prices").at("terms").empty()) found.push_back("price");
  if (row.at("expected") == 0) found.push_back("expected values");
  return found;
}

json platform_row(const Platform& platform, const Catalog& catalog) {
  const Accelerator* card = platform.accelerator.empty() ? nullptr : catalog.find_accelerator(platform.accelerator);
  json row = {{"id", platform.id},
              {"accelerator", card == nullptr ? json(nullptr) : json(card->name)},
              {"count", platform.accelerator_count ? json(*platform.accelerator_count) : json(nullptr)},
              {"identified", how_identified(platform.provider)},
              {"measured", measured(card)},
              {"claims", platform_claims(platform, catalog).size()},
              {"statements", statements_about(platform, catalog)},
              {"expected", expected_of(platform, catalog)},
              {"prices", prices(platform, catalog)}};
  row["gaps"] = gaps(platform, card, row);
  return row;
}

json system_rows(const Catalog& catalog) {
  json rows = json::array();
  if (!catalog.guide_systems.is_object()) return rows;
  for (const json& system : catalog.guide_systems.at("systems")) {
    rows.push_back({{"name", system.at("name")},
                    {"owner", system.at("owner")},
                    {"covered_by", system.at("covered_by")},
                    {"how", system.at("how")},
                    {"guides", system.at("source")}});
  }
  return rows;
}

std::string joined(const json& list, const char* between = ", ") {
  std::string text;
  for (const json& one : list) text += (text.empty() ? "" : between) + one.get<std::string>();
  return text;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string platform_line(const json& row) {
  const json& price = row.at("prices");
  const std::string card = row.at("accelerator").is_null() ? "unknown" : row.at("accelerator").get<std::string>();
  const std::string count = row.at("count").is_null() ? "?" : std::to_string(row.at("count").get<int>());
  std::string terms = joined(price.at("terms"));
  std::replace(terms.begin(), terms.end(), '_', ' ');
  if (!terms.empty())
    terms += ", " + (price.at("newest").is_null() ? "undated" : price.at("newest").get<std::string>());
  return fmt::format("| `{}` | {} x {} | {} | {} | {} | {} | {} | {} | {} |\n", row.at("id").get<std::string>(), count,
                     card, row.at("identified").get<std::string>(), row.at("measured").get<std::string>(),
                     row.at("claims").get<int>(), row.at("statements").get<int>(), row.at("expected").get<int>(),
                     or_dash(terms), or_dash(joined(row.at("gaps"))));
}

}  // namespace

json coverage_json(const Catalog& catalog) {
  json coverage = {{"schema_version", "1.0"}, {"kind", "coverage"}, {"platforms", json::array()}};
  int priced = 0;
  int own_worker = 0;
  int without_gap = 0;
  for (const Platform& platform : catalog.platforms) {
    json row = platform_row(platform, catalog);
    priced += row["prices"]["terms"].empty() ? 0 : 1;
    own_worker += row["measured"] == "own worker" ? 1 : 0;
    without_gap += row["gaps"].empty() ? 1 : 0;
    coverage["platforms"].push_back(std::move(row));
  }
  coverage["systems"] = system_rows(catalog);
  const auto covered = std::count_if(coverage["systems"].begin(), coverage["systems"].end(),
                                     [](const json& system) { return system["covered_by"] != "nothing"; });
  coverage["totals"] = {{"platforms", coverage["platforms"].size()},
                        {"own_worker", own_worker},
                        {"priced", priced},
                        {"without_gap", without_gap},
                        {"systems", coverage["systems"].size()},
                        {"systems_covered", covered}};
  return coverage;
}

std::string coverage_markdown(const json& coverage) {
  const json& totals = coverage.at("totals");
  std::string text = fmt::format(
      "# Coverage\n\n"
      "Generated by `claimcheck catalog coverage`; a test compares it. {} platforms, {} measured by the own worker, {} "
      "with a\nprice, {} without any gap; {} systems that the guides name, {} of them covered.\n\n"
      "- **identified**: how a run knows the instance; `--instance` always works.\n"
      "- **measured**: `own worker` (NVIDIA GPUs), `catalog only` (TPU, AMD, Ascend, Gaudi, Trainium: data sheet and "
      "price).\n  Rates and links of the latter stay `not measured`; logs of other tools can be imported.\n"
      "- **claims**: of the seller, judged when the instance is known. **guides**: statements of the guides about it.\n"
      "- **expected**: what healthy machines reach, for it or its accelerator. **prices**: terms, newest date.\n\n"
      "## Platforms\n\n"
      "| platform | accelerators | identified | measured | claims | guides | expected | prices | gaps |\n"
      "|---|---|---|---|---|---|---|---|---|\n",
      totals.at("platforms").get<int>(), totals.at("own_worker").get<int>(), totals.at("priced").get<int>(),
      totals.at("without_gap").get<int>(), totals.at("systems").get<int>(), totals.at("systems_covered").get<int>());
  for (const json& row : coverage.at("platforms")) text += platform_line(row);
  text += "\n## Systems the guides name\n\n| system | owner | guides | covered by | how |\n|---|---|---|---|---|\n";
  for (const json& row : coverage.at("systems")) {
    std::string guides = joined(row.at("guides"));
    for (std::size_t at = 0; (at = guides.find("guide-", at)) != std::string::npos;) guides.erase(at, 6);
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row.at("name").get<std::string>(),
                        row.at("owner").get<std::string>(), guides, row.at("covered_by").get<std::string>(),
                        row.at("how").get<std::string>());
  }
  return text;
}

}  // namespace claimcheck::guides

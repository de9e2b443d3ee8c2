// What `claimcheck catalog list` and `show` answer, as JSON documents.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <tuple>

#include "harness/catalog/view.h"
#include "harness/cost/price.h"
#include "harness/error.h"
#include "harness/nearest.h"

namespace claimcheck {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> terms = {"on_demand", "spot", "reserved_1y", "reserved_3y",
                                                   "monthly_prepaid"};

template <typename T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

// Days; a year or month that is not over yet is of today.
std::optional<int> age_of(const std::string& date, const std::string& today) {
  const std::optional<int> days = days_between(date, today);
  return days ? std::optional(std::max(*days, 0)) : std::nullopt;
}

// Of the node and of one card: which of them the list gives says `unit`. Unset where the number of cards is unknown.
std::pair<json, json> per_node_and_gpu(const Price& price) {
  const int count = price.accelerator_count.value_or(0);
  if (!price.per_hour) return {nullptr, nullptr};
  if (price.unit != "instance-hour") return {nullptr, *price.per_hour};
  return {*price.per_hour, count > 0 ? json(*price.per_hour / count) : json(nullptr)};
}

json price_row(const Price& price, const std::string& today) {
  const auto [per_node, per_gpu] = per_node_and_gpu(price);
  const std::optional<int> age = age_of(price.as_of, today);
  return {{"provider", price.provider},
          {"instance", price.instance},
          {"region", or_null(price.region)},
          {"term", price.term},
          {"payment", or_null(price.payment)},
          {"per_hour", or_null(price.per_hour)},
          {"per_node_hour", per_node},
          {"per_gpu_hour", per_gpu},
          {"per_month", or_null(price.per_month)},
          {"currency", price.currency},
          {"unit", price.unit},
          {"as_of", or_null(price.as_of)},
          {"age_days", or_null(age)},
          {"stale", age ? json(*age > stale_after_days) : json(nullptr)},
          {"confidence", or_null(price.confidence)},
          {"accelerator", or_null(price.accelerator)},
          {"accelerator_count", or_null(price.accelerator_count)},
          {"outlier", or_null(price.outlier)},
          {"unusable", or_null(price.unusable)},
          {"note", or_null(price.note)},
          {"source", price.sources}};
}

json expected_row(const Expected& record) {
  return {{"id", record.id},
          {"kind", record.kind},
          {"platform", or_null(record.platform)},
          {"accelerator", record.accelerator},
          {"metric", record.metric},
          {"unit", record.unit},
          {"floor", or_null(record.floor)},
          {"typical", or_null(record.typical)},
          {"ceiling", or_null(record.ceiling)},
          {"conditions", record.conditions},
          {"method", record.method},
          {"date", or_null(record.date)},
          {"outlier", or_null(record.outlier)},
          {"disputed", or_null(record.disputed)},
          {"unusable", or_null(record.unusable)},
          {"note", or_null(record.note)},
          {"source", record.sources}};
}

// Every source that a row of `document` names, by id.
json sources_of(const Catalog& catalog, const json& document) {
  json sources = json::object();
  const std::function<void(const json&)> visit = [&](const json& value) {
    if (value.is_object() && value.contains("source") && value.at("source").is_array()) {
      for (const json& id : value.at("source")) {
        const auto found = catalog.sources.find(id.get<std::string>());
        if (found == catalog.sources.end()) continue;
        sources[found->first] = {{"title", found->second.title},
                                 {"date", or_null(found->second.date)},
                                 {"licence", or_null(found->second.licence)}};
      }
    }
    if (value.is_structured()) {
      for (const json& item : value) visit(item);
    }
  };
  visit(document);
  return sources;
}

std::set<std::string> providers(const Catalog& catalog) {
  std::set<std::string> names;
  for (const Platform& platform : catalog.platforms) names.insert(platform.provider);
  for (const Price& price : catalog.prices) names.insert(price.provider);
  return names;
}

void check_kind(const std::string& kind) {
  const std::vector<std::string> kinds = {"accelerators", "platforms", "prices", "expected", "claims"};
  if (kind.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  const std::vector<std::string> near = nearest(kind, kinds, 1);
  throw UserError(fmt::format("the catalog holds no \"{}\"; {} {}", kind, near.empty() ? "expected" : "the nearest is",
                              quoted_choice(near.empty() ? kinds : near)));
}

void check_provider(const Catalog& catalog, const std::string& provider) {
  const std::set<std::string> known = providers(catalog);
  if (provider.empty() || known.count(provider) > 0) return;
  const std::vector<std::string> words(known.begin(), known.end());
  const std::vector<std::string> near = nearest(provider, words, 1);
  throw UserError(fmt::format("no provider \"{}\" in the catalog; {} {}", provider,
                              near.empty() ? "expected" : "the nearest is",
                              quoted_choice(near.empty() ? words : near)));
}

json overview(const Catalog& catalog, const CatalogQuery& query) {
  json rows = json::array();
  for (const std::string& provider : providers(catalog)) {
    if (!query.provider.empty() && provider != query.provider) continue;
    std::string newest;
    std::size_t platforms = 0;
    std::size_t prices = 0;
    std::size_t known = 0;
    for (const Platform& platform : catalog.platforms) platforms += platform.provider == provider ? 1 : 0;
    for (const Price& price : catalog.prices) {
      if (price.provider != provider) continue;
      ++prices;
      known += price.per_hour ? 1 : 0;
      newest = std::max(newest, price.as_of);
    }
    rows.push_back({{"provider", provider},
                    {"platforms", platforms},
                    {"prices", prices},
                    {"prices_known", known},
                    {"newest_price", or_null(newest)},
                    {"age_days", or_null(age_of(newest, query.today))}});
  }
  const std::size_t claims = catalog.guide_claims.is_object() ? catalog.guide_claims.at("claims").size() : 0;
  return {{"counts",
           {{"accelerators", catalog.accelerators.size()},
            {"platforms", catalog.platforms.size()},
            {"prices", catalog.prices.size()},
            {"expected", catalog.expected.size() + catalog.unusable_expected.size()},
            {"claims", claims},
            {"sources", catalog.sources.size()}}},
          {"providers", rows}};
}

// The accelerators that a provider offers; all when it is empty.
std::set<std::string> offered(const Catalog& catalog, const std::string& provider) {
  std::set<std::string> ids;
  for (const Platform& platform : catalog.platforms) {
    if (provider.empty() || platform.provider == provider) ids.insert(platform.accelerator);
  }
  for (const Price& price : catalog.prices) {
    if (provider.empty() || price.provider == provider) ids.insert(price.accelerator);
  }
  return ids;
}

json rows_of(const Catalog& catalog, const CatalogQuery& query) {
  const std::string& provider = query.provider;
  const auto from = [&](const std::string& id) { return provider.empty() || id.starts_with(provider + ":"); };
  json rows = json::array();
  if (query.kind == "accelerators") {
    const std::set<std::string> ids = offered(catalog, provider);
    for (const Accelerator& card : catalog.accelerators) {
      if (provider.empty() || ids.count(card.id) > 0) rows.push_back(card.record);
    }
  } else if (query.kind == "platforms") {
    for (const Platform& platform : catalog.platforms) {
      if (from(platform.id)) rows.push_back(platform.record);
    }
  } else if (query.kind == "prices") {
    for (const Price& price : catalog.prices) {
      if (from(price.provider + ":")) rows.push_back(price_row(price, query.today));
    }
  } else if (query.kind == "expected") {
    for (const auto* list : {&catalog.expected, &catalog.unusable_expected}) {
      for (const Expected& record : *list) {
        if (from(record.platform)) rows.push_back(expected_row(record));
      }
    }
  } else if (catalog.guide_claims.is_object()) {
    for (const json& claim : catalog.guide_claims.at("claims")) {
      const auto about = claim.value("about", std::vector<std::string>());
      if (provider.empty() || std::any_of(about.begin(), about.end(), from)) rows.push_back(claim);
    }
  }
  return rows;
}

json statements_about(const Catalog& catalog, const std::string& id) {
  json found = json::array();
  if (!catalog.guide_claims.is_object()) return found;
  for (const json& claim : catalog.guide_claims.at("claims")) {
    const auto about = claim.value("about", std::vector<std::string>());
    if (std::find(about.begin(), about.end(), id) != about.end()) found.push_back(claim);
  }
  return found;
}

json head(const std::string& kind, const std::string& today) {
  return {{"schema_version", "1.0"}, {"kind", kind}, {"date", today}};
}

json typical_ratios(const Catalog& catalog, const Accelerator& card) {
  json ratios = json::array();
  for (const auto& [type, claim] : card.dense_tflops) {
    std::string basis;
    if (type == "fp64_tensor") continue;
    if (const auto ratio = typical_ratio(catalog, card, type, &basis)) {
      ratios.push_back({{"data_type", type}, {"ratio", *ratio}, {"basis", basis}});
    }
  }
  return ratios;
}

// Rows of the same offer with the newest first; what is of unknown age comes last.
template <typename Fits>
json price_rows(const Catalog& catalog, const std::string& today, const Fits& fits) {
  std::vector<const Price*> prices;
  for (const Price& price : catalog.prices) {
    if (fits(price)) prices.push_back(&price);
  }
  const auto offer = [](const Price& price) {
    const auto rank = std::find(terms.begin(), terms.end(), price.term) - terms.begin();
    return std::tuple(price.provider, price.instance, rank, price.region);
  };
  std::stable_sort(prices.begin(), prices.end(), [&](const Price* a, const Price* b) {
    return offer(*a) != offer(*b) ? offer(*a) < offer(*b) : a->as_of > b->as_of;
  });
  json rows = json::array();
  for (const Price* price : prices) rows.push_back(price_row(*price, today));
  return rows;
}

json show_platform(const Catalog& catalog, const Platform& platform, const std::string& today) {
  json shown = head("catalog.platform", today);
  shown["platform"] = platform.record;
  const Accelerator* card = platform.accelerator.empty() ? nullptr : catalog.find_accelerator(platform.accelerator);
  shown["accelerator"] = card == nullptr ? json(nullptr) : card->record;
  shown["typical_ratios"] = card == nullptr ? json::array() : typical_ratios(catalog, *card);
  shown["prices"] = price_rows(catalog, today, [&](const Price& price) {
    const bool of_its_chips =
        price.unit == "chip-hour" && !price.accelerator.empty() && price.accelerator == platform.accelerator;
    return price.provider == platform.provider && (price.instance == platform.instance || of_its_chips);
  });
  shown["expected"] = json::array();
  for (const auto* list : {&catalog.expected, &catalog.unusable_expected}) {
    for (const Expected& record : *list) {
      const bool of_any_platform = record.platform.empty() && record.accelerator == platform.accelerator;
      if (record.platform == platform.id || of_any_platform) shown["expected"].push_back(expected_row(record));
    }
  }
  shown["guide_statements"] = statements_about(catalog, platform.id);
  shown["sources"] = sources_of(catalog, shown);
  return shown;
}

json show_accelerator(const Catalog& catalog, const Accelerator& card, const std::string& today) {
  json shown = head("catalog.accelerator", today);
  shown["accelerator"] = card.record;
  shown["typical_ratios"] = typical_ratios(catalog, card);
  shown["platforms"] = json::array();
  for (const Platform& platform : catalog.platforms) {
    if (platform.accelerator == card.id) shown["platforms"].push_back(platform.record);
  }
  shown["prices"] = price_rows(catalog, today, [&](const Price& price) { return price.accelerator == card.id; });
  shown["expected"] = json::array();
  for (const auto* list : {&catalog.expected, &catalog.unusable_expected}) {
    for (const Expected& record : *list) {
      if (record.accelerator == card.id) shown["expected"].push_back(expected_row(record));
    }
  }
  shown["guide_statements"] = statements_about(catalog, card.id);
  shown["sources"] = sources_of(catalog, shown);
  return shown;
}

[[noreturn]] void unknown_name(const Catalog& catalog, const std::string& name) {
  constexpr std::size_t most = 3;
  std::vector<std::string> near = catalog.near_platforms(name, most);
  for (const std::string& id : catalog.near_accelerators(name, most)) near.push_back(id);
  throw UserError(fmt::format("the catalog has no \"{}\"; {}", name,
                              near.empty() ? "`claimcheck catalog list platforms` and `list accelerators` name all"
                                           : "the nearest: " + quoted_choice(near)));
}

template <typename T>
[[noreturn]] void ambiguous(const std::string& name, const std::vector<const T*>& candidates) {
  std::vector<std::string> ids;
  ids.reserve(candidates.size());
  for (const T* candidate : candidates) ids.push_back(candidate->id);
  throw UserError(fmt::format("\"{}\" may mean {}; say which", name, quoted_choice(ids)));
}

}  // namespace

json catalog_list_json(const Catalog& catalog, const CatalogQuery& query) {
  check_kind(query.kind);
  check_provider(catalog, query.provider);
  json list = head(query.kind.empty() ? "catalog.overview" : "catalog." + query.kind, query.today);
  if (query.kind.empty()) {
    list.update(overview(catalog, query));
    return list;
  }
  list["rows"] = rows_of(catalog, query);
  list["sources"] = sources_of(catalog, list);
  return list;
}

json catalog_show_json(const Catalog& catalog, const std::string& name, const std::string& today) {
  const std::vector<const Platform*> platforms = catalog.platforms_named(name);
  if (platforms.size() == 1) return show_platform(catalog, *platforms.front(), today);
  if (platforms.size() > 1) ambiguous(name, platforms);
  const std::vector<const Accelerator*> accelerators = catalog.accelerators_named(name);
  if (accelerators.size() == 1) return show_accelerator(catalog, *accelerators.front(), today);
  if (accelerators.size() > 1) ambiguous(name, accelerators);
  unknown_name(catalog, name);
}

json catalog_check_json(const std::vector<CatalogProblem>& problems) {
  json checked{{"schema_version", "1.0"}, {"kind", "catalog.check"}};
  checked["refused"] = json::array();
  checked["disputed"] = json::array();
  for (const CatalogProblem& problem : problems) {
    checked[problem.refused ? "refused" : "disputed"].push_back(
        {{"file", problem.file}, {"place", problem.place}, {"text", problem.text}});
  }
  return checked;
}

}  // namespace claimcheck

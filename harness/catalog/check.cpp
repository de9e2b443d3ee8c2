// All rules, ids and references, and what is disputed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/catalog/checks.h"
#include "harness/catalog/parts.h"
#include "harness/result/json_text.h"

namespace claimcheck {
namespace catalog_checks {
namespace {

// "prices/aws.csv:17" -> {"prices/aws.csv", "line 17"}.
std::pair<std::string, std::string> split(const std::string& place) {
  const std::size_t blank = place.find(' ');
  if (blank != std::string::npos) return {place.substr(0, blank), place.substr(blank + 1)};
  const std::size_t colon = place.rfind(':');
  return {place.substr(0, colon), "line " + place.substr(colon + 1)};
}

template <typename T>
void check_duplicates(const std::vector<T>& records, Problems& problems) {
  std::map<std::string, std::string> places;  // by id
  for (const T& record : records) {
    const auto [first, is_new] = places.emplace(record.id, record.place);
    // A record for a family of platforms is there once a platform, always from one place.
    if (!is_new && first->second != record.place) {
      refuse(problems, record.place, fmt::format("the id \"{}\" is taken by {}", record.id, first->second));
    }
  }
}

void check_duplicate_claims(const nlohmann::json& document, const char* file, const char* key, Problems& problems) {
  std::set<std::string> ids;
  if (!document.is_object()) return;
  for (std::size_t i = 0; i < document.at(key).size(); ++i) {
    const auto id = document.at(key).at(i).value("id", "");
    if (!ids.insert(id).second) {
      refuse(problems, fmt::format("{} /{}/{}", file, key, i), fmt::format("a second id \"{}\"", id));
    }
  }
}

void check_spellings(const Catalog& catalog, Problems& problems) {
  for (const Platform& platform : catalog.platforms) {
    std::vector<std::string> names = platform.aliases;
    names.push_back(platform.provider + ":" + platform.instance);
    for (const std::string& name : names) {
      if (catalog.find_platform(name) != nullptr) continue;
      refuse(problems, platform.place, fmt::format("the name \"{}\" means more than one platform", name));
    }
  }
  for (const Accelerator& accelerator : catalog.accelerators) {
    std::vector<std::string> names = accelerator.aliases;
    names.push_back(accelerator.name);
    for (const std::string& name : names) {
      if (catalog.find_accelerator(name) == &accelerator) continue;
      refuse(problems, accelerator.place, fmt::format("the name \"{}\" also means another accelerator", name));
    }
  }
}

class References {
 public:
  References(const Catalog& catalog, Problems& problems) : catalog_(catalog), problems_(problems) {
    for (const Accelerator& accelerator : catalog.accelerators) ids_.insert(accelerator.id);
    for (const Platform& platform : catalog.platforms) ids_.insert(platform.id);
  }

  void sources(const Sources& sources, const std::string& place) {
    for (const std::string& id : sources) {
      if (catalog_.sources.count(id) == 0) refuse(problems_, place, unknown("source", id, "sources.json"));
    }
  }

  void sources(const nlohmann::json& document, const char* file, const char* key) {
    if (!document.is_object()) return;
    for (std::size_t i = 0; i < document.at(key).size(); ++i) {
      sources(document.at(key).at(i).at("source").get<Sources>(), fmt::format("{} /{}/{}", file, key, i));
    }
  }

  void id(const std::string& what, const std::string& id, const std::string& place) {
    if (id.empty() || id.starts_with("unlisted:") || ids_.count(id) > 0) return;
    const auto near = what == "platform" ? catalog_.near_platforms(id, 1) : catalog_.near_accelerators(id, 1);
    refuse(problems_, place, unknown(what, id, near.empty() ? "a row of the catalog" : near.front()));
  }

 private:
  static std::string unknown(const std::string& what, const std::string& id, const std::string& expected) {
    return fmt::format("unknown {} \"{}\"; expected an id of {}", what, id, expected);
  }

  const Catalog& catalog_;
  Problems& problems_;
  std::set<std::string> ids_;
};

// "dense_tflops.bf16" of a record; null when it has none.
nlohmann::json field_of(const nlohmann::json& record, const std::string& path) {
  nlohmann::json value = record;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (!value.is_object() || !value.contains(key)) return nullptr;
    value = nlohmann::json(value.at(key));
    begin = end + 1;
  }
  return value;
}

void list_conflicts(const Accelerator& accelerator, Problems& problems) {
  if (!accelerator.record.contains("conflicts")) return;
  for (const nlohmann::json& conflict : accelerator.record.at("conflicts")) {
    const std::string field = conflict.at("field").get<std::string>();
    const nlohmann::json chosen = field_of(accelerator.record, field);
    const std::string why = conflict.value("why", nlohmann::json(nullptr)).is_string()
                                ? " (" + conflict.at("why").get<std::string>() + ")"
                                : "";
    dispute(problems, accelerator.place,
            fmt::format("{} {}: {} here, {} by {}{}", accelerator.id, field,
                        chosen.is_null() ? "unknown" : dump_json(chosen, -1), dump_json(conflict.at("value"), -1),
                        conflict.at("stated_by").get<std::string>(), why));
  }
}

}  // namespace

void refuse(Problems& problems, const std::string& place, const std::string& text) {
  const auto [file, where] = split(place);
  problems.push_back({file, where, text, true});
}

void dispute(Problems& problems, const std::string& place, const std::string& text) {
  const auto [file, where] = split(place);
  problems.push_back({file, where, text, false});
}

void check_ids(const Catalog& catalog, Problems& problems) {
  check_duplicates(catalog.accelerators, problems);
  check_duplicates(catalog.platforms, problems);
  std::vector<Expected> expected = catalog.expected;
  expected.insert(expected.end(), catalog.unusable_expected.begin(), catalog.unusable_expected.end());
  check_duplicates(expected, problems);
  check_duplicate_claims(catalog.guide_claims, "claims/guides.json", "claims", problems);
  check_duplicate_claims(catalog.guide_contradictions, "claims/contradictions.json", "contradictions", problems);
  std::set<std::string> codes;
  for (const Currency& currency : catalog.currencies) {
    if (!codes.insert(currency.code).second) refuse(problems, currency.place, "a second rate of " + currency.code);
  }
  check_duplicates(catalog.fees, problems);
  check_spellings(catalog, problems);
}

void check_references(const Catalog& catalog, Problems& problems) {
  References references(catalog, problems);
  for (const Accelerator& accelerator : catalog.accelerators)
    references.sources(accelerator.sources, accelerator.place);
  for (const Platform& platform : catalog.platforms) {
    references.sources(platform.sources, platform.place);
    references.id("accelerator", platform.accelerator, platform.place);
  }
  for (const Price& price : catalog.prices) {
    references.sources(price.sources, price.place);
    references.id("accelerator", price.accelerator, price.place);
  }
  for (const auto* list : {&catalog.expected, &catalog.unusable_expected}) {
    for (const Expected& expected : *list) {
      references.sources(expected.sources, expected.place);
      references.id("platform", expected.platform, expected.place);
      references.id("accelerator", expected.accelerator, expected.place);
    }
  }
  for (const Currency& currency : catalog.currencies) references.sources(currency.sources, currency.place);
  for (const Fee& fee : catalog.fees) references.sources(fee.sources, fee.place);
  references.sources(catalog.guide_claims, "claims/guides.json", "claims");
  references.sources(catalog.guide_contradictions, "claims/contradictions.json", "contradictions");
  references.sources(catalog.guide_systems, "claims/systems.json", "systems");
  if (!catalog.guide_claims.is_object()) return;
  const nlohmann::json& claims = catalog.guide_claims.at("claims");
  for (std::size_t i = 0; i < claims.size(); ++i) {
    for (const std::string& id : claims[i].value("about", std::vector<std::string>())) {
      references.id(id.find(':') == std::string::npos ? "accelerator" : "platform", id,
                    fmt::format("claims/guides.json /claims/{}/about", i));
    }
  }
}

void list_disputes(const Catalog& catalog, Problems& problems) {
  for (const Accelerator& accelerator : catalog.accelerators) list_conflicts(accelerator, problems);
  std::set<std::string> listed;
  for (const auto* list : {&catalog.expected, &catalog.unusable_expected}) {
    for (const Expected& expected : *list) {
      if (!listed.insert(expected.place).second) continue;
      if (!expected.disputed.empty()) dispute(problems, expected.place, expected.id + ": " + expected.disputed);
      if (!expected.unusable.empty()) {
        dispute(problems, expected.place, fmt::format("{}: not judged by: {}", expected.id, expected.unusable));
      }
    }
  }
  for (const Price& price : catalog.prices) {
    if (price.unusable.empty()) continue;
    dispute(problems, price.place,
            fmt::format("{}:{} {} {}: not counted with: {}", price.provider, price.instance, price.region, price.term,
                        price.unusable));
  }
  if (!catalog.guide_contradictions.is_object()) return;
  const nlohmann::json& list = catalog.guide_contradictions.at("contradictions");
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string claims;
    for (const auto& id : list[i].at("claims")) claims += (claims.empty() ? "" : ", ") + id.get<std::string>();
    dispute(problems, fmt::format("claims/contradictions.json /contradictions/{}", i),
            fmt::format("{}, the guides ({}) against public sources: {}", list[i].at("topic").get<std::string>(),
                        claims, list[i].at("right").get<std::string>()));
  }
}

}  // namespace catalog_checks

namespace {

// Digits compare as numbers, so that line 9 comes before line 10.
bool natural_less(const std::string& a, const std::string& b) {
  const auto number_at = [](const std::string& text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    return end - at;
  };
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::size_t left = number_at(a, i);
    const std::size_t right = number_at(b, j);
    if (left > 0 && right > 0 && left != right) return left < right;
    if (a[i] != b[j]) return a[i] < b[j];
    ++i, ++j;
  }
  return a.size() < b.size();
}

}  // namespace

std::vector<CatalogProblem> check_catalog(const std::optional<std::filesystem::path>& directory) {
  return check_files(catalog_files(directory));
}

std::vector<CatalogProblem> check_files(const std::vector<CatalogFile>& files) {
  std::vector<CatalogProblem> problems;
  const Catalog catalog = read_catalog(files, &problems);
  catalog_checks::check_ids(catalog, problems);
  catalog_checks::check_fees(catalog, problems);
  catalog_checks::check_references(catalog, problems);
  catalog_checks::check_prices(catalog, problems);
  catalog_checks::check_expected(catalog, problems);
  catalog_checks::list_disputes(catalog, problems);
  std::stable_sort(problems.begin(), problems.end(), [](const CatalogProblem& a, const CatalogProblem& b) {
    return a.file != b.file ? a.file < b.file : natural_less(a.place, b.place);
  });
  return problems;
}

}  // namespace claimcheck

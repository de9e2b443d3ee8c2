// From files to a Catalog.
#include <fmt/format.h>

#include "harness/catalog/parts.h"
#include "harness/error.h"
#include "harness/result/json_text.h"

namespace claimcheck {
namespace {

class Loader {
 public:
  explicit Loader(std::vector<CatalogProblem>* problems) : problems_(problems) {}

  Catalog load(const std::vector<CatalogFile>& files) {
    for (const CatalogFile& file : files) read(file);
    place_expected();
    return std::move(catalog_);
  }

 private:
  void guarded(const std::function<void()>& step) {
    try {
      step();
    } catch (const CatalogError& error) {
      if (problems_ == nullptr) {
        throw UserError(fmt::format("catalog file {}, {}: {}", error.file(), error.place(), error.what()));
      }
      problems_->push_back({error.file(), error.place(), error.what(), true});
    }
  }

  void read(const CatalogFile& file) {
    const std::string& path = file.path;
    if (path.starts_with("prices/") && path.ends_with(".csv")) {
      catalog_parts::read_prices(
          file, [this](const auto& step) { guarded(step); }, catalog_.prices);
      return;
    }
    nlohmann::json document;
    bool readable = false;
    guarded([&] {
      document = parsed(file);
      readable = true;
    });
    if (readable) read_document(path, document);
  }

  static nlohmann::json parsed(const CatalogFile& file) {
    try {
      nlohmann::json document = parse_json(file.text, file.path);
      const auto version = document.is_object() ? document.find("schema_version") : document.end();
      if (version == document.end() || !version->is_string()) {
        throw CatalogError(file.path, "/schema_version", "missing; expected \"1.0\"");
      }
      if (*version != "1.0") {
        throw CatalogError(file.path, "/schema_version",
                           fmt::format("{}; this claimcheck reads 1.0", version->get<std::string>()));
      }
      return document;
    } catch (const UserError& error) {
      throw placed(file.path, error.what());
    }
  }

  // "PATH:LINE:COLUMN: text" as an error with its place.
  static CatalogError placed(const std::string& path, const std::string& text) {
    const std::size_t line = path.size() + 1;
    const std::size_t column = text.find(':', line);
    const std::size_t end = column == std::string::npos ? column : text.find(": ", column);
    if (!text.starts_with(path + ":") || end == std::string::npos) return CatalogError(path, "line 1", text);
    return CatalogError(path, "line " + text.substr(line, column - line), text.substr(end + 2));
  }

  void read_document(const std::string& path, nlohmann::json& document) {
    namespace parts = catalog_parts;
    if (path == "sources.json") {
      each(path, document, "sources", [this, &path](const auto& value, const std::string& pointer) {
        Source source = parts::read_source(value, path, pointer);
        const std::string id = source.id;
        if (!catalog_.sources.emplace(id, std::move(source)).second) {
          throw CatalogError(path, pointer, fmt::format("a second source \"{}\"", id));
        }
      });
    } else if (path == "currencies.json") {
      into(catalog_.currencies, path, document, "currencies", parts::read_currency);
    } else if (path == "fees.json") {
      into(catalog_.fees, path, document, "fees", parts::read_fee);
    } else if (path.starts_with("accelerators/")) {
      into(catalog_.accelerators, path, document, "accelerators", parts::read_accelerator);
    } else if (path.starts_with("platforms/")) {
      into(catalog_.platforms, path, document, "platforms", parts::read_platform);
    } else if (path.starts_with("expected/")) {
      into(all_expected_, path, document, "expected", parts::read_expected);
    } else if (path == "claims/guides.json") {
      if (checked(path, document, "claims", parts::read_guide_claim)) catalog_.guide_claims = std::move(document);
    } else if (path == "claims/contradictions.json") {
      if (checked(path, document, "contradictions", parts::read_contradiction)) {
        catalog_.guide_contradictions = std::move(document);
      }
    } else if (path == "claims/systems.json") {
      if (checked(path, document, "systems", parts::read_system)) catalog_.guide_systems = std::move(document);
    } else if (path == "rules.json") {
      for (const char* key : {"formulas", "decision_rules", "peak_rules"})
        checked(path, document, key, parts::read_rule);
    } else {
      guarded([&] {
        throw CatalogError(path, "/",
                           "no part of a catalog; expected sources.json, currencies.json, fees.json, rules.json, "
                           "accelerators/*.json, platforms/*.json, prices/*.csv, expected/*.json, "
                           "claims/guides.json, claims/contradictions.json or claims/systems.json");
      });
    }
  }

  template <typename Step>
  void each(const std::string& path, const nlohmann::json& document, const char* key, const Step& step) {
    guarded([&] {
      if (!document.contains(key) || !document.at(key).is_array()) {
        throw CatalogError(path, fmt::format("/{}", key), "missing; expected a list");
      }
      const nlohmann::json& list = document.at(key);
      for (std::size_t i = 0; i < list.size(); ++i) {
        guarded([&] { step(list[i], fmt::format("/{}/{}", key, i)); });
      }
    });
  }

  template <typename T>
  void into(std::vector<T>& records, const std::string& path, const nlohmann::json& document, const char* key,
            T (*reader)(const nlohmann::json&, const std::string&, const std::string&)) {
    each(path, document, key,
         [&](const auto& value, const std::string& pointer) { records.push_back(reader(value, path, pointer)); });
  }

  // Whether every record is right, so that others may rely on it.
  bool checked(const std::string& path, const nlohmann::json& document, const char* key,
               void (*reader)(const nlohmann::json&, const std::string&, const std::string&)) {
    const std::size_t before = problems_ == nullptr ? 0 : problems_->size();
    each(path, document, key, [&](const auto& value, const std::string& pointer) { reader(value, path, pointer); });
    return problems_ == nullptr || problems_->size() == before;
  }

  // A record of a family ("aws:g5.*") becomes one a platform; unusable ones go where nobody judges by them.
  void place_expected() {
    for (Expected& record : all_expected_) {
      std::vector<Expected>& where = record.unusable.empty() ? catalog_.expected : catalog_.unusable_expected;
      if (!record.platform.ends_with('*')) {
        where.push_back(std::move(record));
        continue;
      }
      const std::string prefix = record.platform.substr(0, record.platform.size() - 1);
      std::size_t fits = 0;
      for (const Platform& platform : catalog_.platforms) {
        if (!platform.id.starts_with(prefix) || platform.accelerator != record.accelerator) continue;
        where.push_back(record);
        where.back().platform = platform.id;
        ++fits;
      }
      guarded([&] {
        if (fits > 0) return;
        const std::size_t blank = record.place.find(' ');
        throw CatalogError(
            record.place.substr(0, blank), record.place.substr(blank + 1) + "/platform",
            fmt::format("\"{}\" fits no platform with the accelerator {}", record.platform, record.accelerator));
      });
    }
  }

  std::vector<CatalogProblem>* problems_;
  Catalog catalog_;
  std::vector<Expected> all_expected_;
};

}  // namespace

Catalog read_catalog(const std::vector<CatalogFile>& files, std::vector<CatalogProblem>* problems) {
  return Loader(problems).load(files);
}

Catalog load_catalog(const std::optional<std::filesystem::path>& directory) {
  return read_catalog(catalog_files(directory));
}

}  // namespace claimcheck

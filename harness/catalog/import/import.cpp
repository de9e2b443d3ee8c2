#include "harness/catalog/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/catalog/import/compose.h"
#include "harness/catalog/import/traps.h"
#include "harness/catalog/parts.h"
#include "harness/catalog/record.h"
#include "harness/error.h"
#include "harness/nearest.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

namespace import = catalog_import;

void check_options(const ImportOptions& options) {
  const std::vector<std::string> formats = import::format_names();
  if (std::find(formats.begin(), formats.end(), options.format) == formats.end()) {
    throw UserError(fmt::format("--format '{}': expected {}", sanitised_text(options.format), quoted_choice(formats)));
  }
  if (options.as_of.empty()) return;
  if (options.as_of.size() != 10 || !is_date(options.as_of)) {
    throw UserError(
        fmt::format("--as-of '{}': expected the day of the list, such as 2026-11-30", sanitised_text(options.as_of)));
  }
  if (options.as_of > options.today) {
    throw UserError(fmt::format("--as-of {} is after today ({})", options.as_of, options.today));
  }
}

// Places first, so that the same rows give the same list in whatever order the sink got them.
void sort_refused(import::Collected& collected) {
  std::sort(collected.refused.begin(), collected.refused.end(), [&](const auto& a, const auto& b) {
    return std::tuple(a.place.file, a.place.line, a.reason, std::string_view(a.offer)) <
           std::tuple(b.place.file, b.place.line, b.reason, std::string_view(b.offer));
  });
}

}  // namespace

ImportedPrices import_prices(const ImportOptions& options, const std::vector<CatalogFile>& files) {
  check_options(options);
  const Catalog catalog = read_catalog(files);
  import::Collector collector(catalog, options.today);
  for (const std::filesystem::path& file : options.files) {
    collector.read(file, options.format, {options.provider}, options.as_of);
  }
  ImportedPrices imported;
  imported.collected = collector.take();
  import::refuse_traps(imported.collected, catalog);
  imported.merged = import::merge(catalog, imported.collected, options.replace);
  sort_refused(imported.collected);
  imported.files = files;
  imported.changed = import::compose(imported.files, imported.merged, imported.collected.feeds);
  return imported;
}

}  // namespace claimcheck

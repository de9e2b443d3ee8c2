// One file of a catalog that a user keeps: its name in the first line, what it holds in the rest. Our own lists of
// sources and currencies stand beside it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalog/parts.h"
#include "harness/error.h"

namespace {

std::vector<claimcheck::CatalogFile> companions() {
  std::vector<claimcheck::CatalogFile> files = claimcheck::catalog_files(std::nullopt);
  std::erase_if(files, [](const auto& file) { return file.path != "sources.json" && file.path != "currencies.json"; });
  return files;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<claimcheck::CatalogFile> beside = companions();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::vector<claimcheck::CatalogFile> files = beside;
  std::erase_if(files, [&](const auto& file) { return file.path == text.substr(0, end); });
  claimcheck::CatalogFile mine = files.front();
  mine.path = text.substr(0, end);
  mine.text = text.substr(std::min(end + 1, text.size()));
  files.push_back(mine);
  claimcheck::check_files(files);
  return 0;
}

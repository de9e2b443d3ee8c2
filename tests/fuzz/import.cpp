// Logs of other tools as `claimcheck import` gets them. An input whose first line names a tool is read as that tool's;
// any other by what it holds. What comes out has to be a document that our own reader takes, and can be judged.
#include "harness/import/import.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/catalog/catalog.h"
#include "harness/error.h"
#include "harness/evidence/derived.h"
#include "harness/import/format.h"
#include "harness/judge/findings.h"
#include "harness/judge/judge.h"
#include "harness/result/json_text.h"

namespace {

using namespace claimcheck;

// A file without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    while (!text.empty()) {
      const ssize_t written = write(descriptor_, text.data(), text.size());
      if (written <= 0) std::abort();
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string_view named_tool(std::string_view& text) {
  const std::size_t end = text.find('\n');
  for (const importing::Format& format : importing::formats()) {
    if (end == std::string_view::npos || text.substr(0, end) != format.name) continue;
    text.remove_prefix(end + 1);
    return format.name;
  }
  return "auto";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Catalog catalog = load_catalog();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  importing::ImportOptions options;
  options.tool = named_tool(text);
  const MemoryFile file(text);
  Document document;
  try {
    document = importing::import_files({file.path()}, options).document;
  } catch (const UserError&) {  // nothing recognised
    return 0;
  }
  Document again = document_from(parse_json(dump_json(to_json(document)), "imported"));
  derive(again, catalog);
  again.verdicts = all_verdicts(again, {}, catalog);
  replace_measured_findings(again, measured_findings(again, catalog));
  document_from(parse_json(dump_json(to_json(again)), "judged"));
  return 0;
}

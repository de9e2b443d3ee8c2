// A catalog onto the disk, so that a program that reads it meanwhile, or a machine that goes down, finds a whole one.
#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "harness/catalog/import/import.h"
#include "harness/error.h"
#include "harness/result/document.h"
#include "harness/terminal_text.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return sanitised_text(path.string()); }

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw UserError(fmt::format("cannot make the directory {}: {}", shown(directory), error.message()));
}

void write_into(const fs::path& directory, const CatalogFile& file) {
  const fs::path path = directory / file.path;
  make_directory(path.parent_path());
  write_atomically(path, file.text);
}

// Removes a half-made directory, whatever ends the writing.
class Unfinished {
 public:
  explicit Unfinished(fs::path directory) : directory_(std::move(directory)) {}
  ~Unfinished() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  fs::path directory_;
};

}  // namespace

void write_catalog(const fs::path& directory, const ImportedPrices& imported) {
  std::error_code error;
  if (fs::exists(directory / "sources.json", error)) {
    for (const std::string& path : imported.changed) {  // sources first: prices name them
      for (const CatalogFile& file : imported.files) {
        if (file.path == path) write_into(directory, file);
      }
    }
    return;
  }
  fs::path target = directory.lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (target.has_parent_path()) make_directory(target.parent_path());
  const fs::path temporary = target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  make_directory(temporary);
  const Unfinished unfinished(temporary);
  for (const CatalogFile& file : imported.files) write_into(temporary, file);
  fs::rename(temporary, target, error);  // over an empty directory, too
  if (error) throw UserError(fmt::format("cannot make the directory {}: {}", shown(directory), error.message()));
}

}  // namespace claimcheck

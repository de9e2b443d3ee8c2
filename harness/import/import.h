// From files of other tools to a result document, which judge, cost and report take like one of our own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/import/collected.h"
#include "harness/result/document.h"

namespace claimcheck::importing {

struct ImportOptions {
  std::string tool = "auto";  // a format's name, or auto: what each file's content shows
  Said said;
  std::vector<std::string> command;  // as typed
};

struct Imported {
  Document document;
  std::vector<FileReport> files;
};

// "-" is standard input. Files are of one machine and one time: all go into one document. Throws UserError: a file that
// cannot be read, an unknown tool, nothing in any file that a format recognises.
Imported import_files(const std::vector<std::filesystem::path>& files, const ImportOptions& options);

}  // namespace claimcheck::importing

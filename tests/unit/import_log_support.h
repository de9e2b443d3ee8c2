// What the tests of importers share: text in, document out.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/error.h"
#include "harness/import/import.h"

namespace claimcheck::import_test {

using importing::Imported;
using importing::ImportOptions;
using nlohmann::json;

// A file of this test that is gone after it.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    std::string name = std::filesystem::temp_directory_path() / "claimcheck-import-XXXXXX";
    descriptor_ = mkstemp(name.data());
    path_ = name;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TextFile() {
    close(descriptor_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::filesystem::path path_;
};

inline Imported imported(const std::string& text, ImportOptions options = {}) {
  const TextFile file(text);
  return importing::import_files({file.path()}, options);
}

inline const Measurement* find(const Imported& from, const std::string& id, const std::string& metric) {
  for (const Measurement& measurement : from.document.measurements)
    if (measurement.id == id && measurement.metric == metric) return &measurement;
  return nullptr;
}

inline const Finding* finding(const Imported& from, const std::string& id) {
  for (const Finding& finding : from.document.findings)
    if (finding.id == id) return &finding;
  return nullptr;
}

// Every sentence about the first file in one text.
inline std::string remarks(const Imported& from) {
  std::string text;
  for (const auto* list : {&from.files[0].partial, &from.files[0].notes})
    for (const std::string& sentence : *list) text += sentence + "\n";
  return text;
}

// Cut behind every line, and within each, the text may give less and says so, but neither fails nor claims more
// measurements than the whole.
inline void survives_truncation(const std::string& text) {
  const std::size_t all = imported(text).document.measurements.size();
  for (std::size_t end = 0; end < text.size(); ++end) {
    if (text[end] != '\n' && end % 7 != 0) continue;
    try {
      const Imported part = imported(text.substr(0, end));
      EXPECT_LE(part.document.measurements.size(), all) << end;
    } catch (const UserError&) {  // nothing recognised yet
    }
  }
}

}  // namespace claimcheck::import_test

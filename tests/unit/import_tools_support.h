// Output of other tools, written by us, imported from a file of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/error.h"
#include "harness/import/import.h"

namespace claimcheck {

class ToolImports : public ::testing::Test {
 protected:
  std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("claimcheck-tool-" + std::to_string(::getpid()) + "-" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  void TearDown() override { std::filesystem::remove(file); }

  importing::Imported import(const std::string& text, const std::string& tool = "auto") const {
    std::ofstream(file, std::ios::binary) << text;
    importing::ImportOptions options;
    options.tool = tool;
    return importing::import_files({file}, options);
  }

  // Every beginning of a text ends in a document or in a clear refusal; the whole one in a document.
  void expect_any_beginning_is_read(const std::string& text) const {
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
      try {
        const auto imported = import(text.substr(0, at));
        EXPECT_EQ(imported.files.size(), 1U);
      } catch (const UserError& refused) {
        EXPECT_NE(std::string(refused.what()), "");
      }
    }
    EXPECT_NO_THROW(import(text));
  }

  // What an import is refused with, without the path; empty when it is not.
  std::string refusal(const std::string& text) const {
    try {
      import(text);
    } catch (const UserError& refused) {
      std::string what = refused.what();
      const std::size_t at = what.find(file.string());
      return at == std::string::npos ? what : what.erase(at, file.string().size());
    }
    return "";
  }

  // The measurement of a metric whose id holds `part`; fails where there is none.
  static Measurement measurement(const importing::Imported& imported, const std::string& metric,
                                 const std::string& part = "") {
    for (const Measurement& one : imported.document.measurements)
      if (one.metric == metric && one.id.find(part) != std::string::npos) return one;
    ADD_FAILURE() << "no measurement of " << metric << " with " << part;
    return {};
  }

  static Finding finding(const importing::Imported& imported, const std::string& id) {
    for (const Finding& one : imported.document.findings)
      if (one.id == id) return one;
    ADD_FAILURE() << "no finding " << id;
    return {};
  }

  static std::string notes(const importing::Imported& imported) {
    std::string all;
    for (const std::string& note : imported.files.front().notes) all += note + "\n";
    return all;
  }

  static std::string partial(const importing::Imported& imported) {
    std::string all;
    for (const std::string& note : imported.files.front().partial) all += note + "\n";
    return all;
  }
};

}  // namespace claimcheck

// Price lists of our own making, imported into the shipped catalog.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "harness/catalog/import/import.h"
#include "harness/catalog/parts.h"
#include "harness/error.h"

namespace claimcheck {

class Imports : public ::testing::Test {
 protected:
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("claimcheck-import-" + std::to_string(::getpid()) + "-" +
                                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  ImportOptions options;
  std::vector<CatalogFile> catalog = catalog_files(std::nullopt);

  void SetUp() override {
    std::filesystem::create_directories(folder);
    options.today = "2026-11-30";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  // A list below the folder; its name may have directories.
  std::filesystem::path list(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  ImportedPrices import(const std::vector<std::filesystem::path>& files) {
    options.files = files;
    return import_prices(options, catalog);
  }

  ImportedPrices import(const std::string& name, const std::string& text) { return import({list(name, text)}); }

  // What an import is refused with, without the folder in it; empty when it is not.
  std::string error(const std::string& name, const std::string& text) {
    try {
      import(name, text);
    } catch (const UserError& refused) {
      EXPECT_EQ(refused.code(), ExitCode::usage);
      std::string what = refused.what();
      const std::size_t at = what.find(folder.string() + "/");
      return at == std::string::npos ? what : what.erase(at, folder.string().size() + 1);
    }
    return "";
  }

  // "aws:p5.48xlarge us-east-1 spot 5.5 USD/instance-hour 2026-11-01 import-..." of each row.
  static std::vector<std::string> texts(const std::vector<catalog_import::Joined>& rows) {
    std::vector<std::string> list;
    for (const auto& row : rows) {
      const Price& price = row.price;
      list.push_back(fmt::format("{}:{} {} {}{}{} {} {}/{} {}", price.provider, price.instance, price.region,
                                 price.term, price.payment.empty() ? "" : " ", price.payment, *price.per_hour,
                                 price.currency, price.unit, price.as_of.empty() ? "undated" : price.as_of));
    }
    return list;
  }

  // "REASON | OFFER" of each refused row.
  static std::vector<std::string> refused(const ImportedPrices& imported) {
    std::vector<std::string> list;
    for (const auto& row : imported.collected.refused) {
      list.push_back(imported.collected.reasons[row.reason] + " | " + row.offer);
    }
    return list;
  }

  static std::size_t left_out(const ImportedPrices& imported, const std::string& reason) {
    const auto found = imported.collected.left_out.find(reason);
    return found == imported.collected.left_out.end() ? 0 : found->second.rows;
  }

  // The check of the whole new catalog: what it refuses.
  static std::vector<std::string> faults(const ImportedPrices& imported) {
    std::vector<std::string> list;
    for (const CatalogProblem& problem : check_files(imported.files)) {
      if (problem.refused) list.push_back(problem.file + " " + problem.place + ": " + problem.text);
    }
    return list;
  }

  static std::string file_text(const ImportedPrices& imported, const std::string& path) {
    for (const CatalogFile& file : imported.files) {
      if (file.path == path) return file.text;
    }
    return "";
  }
};

}  // namespace claimcheck

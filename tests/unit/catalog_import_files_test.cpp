// What files of strangers may not do, and what is left on the disk.
#include <fmt/format.h>

#include "tests/unit/import_support.h"

namespace claimcheck {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string header = "InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region\n";

// ---- files of strangers

class Strangers : public Imports {};

TEST_F(Strangers, WindowsLineEndsAndAByteOrderMarkMakeNoDifference) {
  options.as_of = "2026-11-01";
  const std::string plain = header + "p5.48xlarge,H100,8,54.5,,eu-new-1\n";
  std::string windows = "\xEF\xBB\xBF" + plain;
  for (std::size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2) windows.insert(at, "\r");
  EXPECT_EQ(file_text(import("aws.csv", plain), "prices/aws.csv"),
            file_text(import("aws.csv", windows), "prices/aws.csv"));
}

TEST_F(Strangers, EachFaultHasAFileALineAndASentence) {
  EXPECT_THAT(error("aws.csv", ""), HasSubstr("aws.csv: empty"));
  EXPECT_THAT(error("aws.csv", "a,b\n1,2\n"), StartsWith("aws.csv:1: no format known here begins like this"));
  EXPECT_THAT(error("aws.csv", header + "p5.48xlarge,H100,8\n"), StartsWith("aws.csv:2: 3 cells; expected 6"));
  EXPECT_THAT(error("aws.csv", header + "\"p5.48xlarge,H100,8,1,,r\n"),
              StartsWith("aws.csv:2: a quote is opened and never closed"));
  EXPECT_THAT(error("aws.csv", header + "\"p5\"x,H100,8,1,,r\n"), StartsWith("aws.csv:2: text behind a closing quote"));
  EXPECT_THAT(error("aws.csv", header + "p5\xFF,H100,8,1,,r\n"), StartsWith("aws.csv:2: bytes that are not UTF-8"));
  EXPECT_THAT(error("aws.csv", header + "p5.48xlarge,H100,8,5"), StartsWith("aws.csv:2: 4 cells"));
  EXPECT_THAT(error("aws.csv", header + "p5.48xlarge,H100,8,55,,us-east-1"),
              StartsWith("aws.csv:2: the last line does not end with a line break"));
  EXPECT_THAT(error("aws.csv", header + std::string(std::size_t{3} << 20, 'x')), HasSubstr("aws.csv:2: over 1048576"));
  EXPECT_THAT(error("aws.csv", "Price,Price,InstanceType,Region\n1,2,3,4\n"),
              StartsWith("aws.csv:1: the column \"Price\" twice"));
  options.format = "skypilot";
  EXPECT_THAT(error("aws.csv", "InstanceType,Price,Regions\na,1,r\n"), HasSubstr("no column \"AcceleratorName\""));
  options.format = "gpuhunt";
  EXPECT_THAT(error("aws.csv", header), AllOf(StartsWith("aws.csv:1: no column \"instance_name\"")));
  options.format = "vantage";
  EXPECT_THAT(error("i.json", "[{\"a\": 1}, \n{\"b\": }]"), StartsWith("i.json:2: not JSON"));
  EXPECT_THAT(error("i.json", "[{\"a\": 1}, \n{\"b\": "), AllOf(StartsWith("i.json:2: "), HasSubstr("cut short")));
  EXPECT_THAT(error("i.json", "[]"), StartsWith("i.json:1: no instance in it"));
  EXPECT_THAT(error("i.json", std::string(200, '[')), StartsWith("i.json:1: values nested deeper than 32"));
  EXPECT_THAT(error("i.json", "[{\"a\": \"\xC3\x28\"}]"), StartsWith("i.json:1: not JSON"));
  options.format = "karpenter";
  EXPECT_THAT(error("p.json", "{\"r\": {\"t\": {\"x\": {\"y\": {\"z\": 1}}}}}"),
              StartsWith("p.json:1: /r/t/x/y/z is no price of a karpenter table"));
  EXPECT_THAT(error("p.json", "{}"), StartsWith("p.json:1: no price in it"));
  EXPECT_THAT(error("p.go", "package pricing\nvar x = map[string]string{}\n"), StartsWith("p.go:2: no price in it"));
  EXPECT_THAT(error("p.go", "package p\nvar x = map{\n\"a\": 1.5,\n}\n"),
              StartsWith("p.go:3: a price of \"a\" outside a region"));
  EXPECT_THAT(error("p.go", "package p\n}\n"), StartsWith("p.go:2: a closing brace too many"));
  options.format = "cyclenerd";
  EXPECT_THAT(error("p.yml", "compute:\n  a: [1, 2\n"), AllOf(StartsWith("p.yml:"), HasSubstr("not YAML")));
  EXPECT_THAT(error("p.yml", "compute: &a\n  b: *a\n"), StartsWith("p.yml:2: an alias"));
  EXPECT_THAT(error("p.yml", std::string(40, '[')), StartsWith("p.yml:1: nested deeper than 16"));
  EXPECT_THAT(error("p.yml", "about:\n  timestamp: soon\n"), StartsWith("p.yml:2: about.timestamp"));
  EXPECT_THAT(error("p.yml", "about:\n  timestamp: 4000000000\n"), HasSubstr("after today (2026-11-30)"));
  EXPECT_THAT(error("p.yml", "a: 1\n"), HasSubstr("no price in it"));
}

TEST_F(Strangers, OptionsThatMakeNoSense) {
  const std::string good = header + "p5.48xlarge,H100,8,54.5,,eu-new-1\n";
  options.as_of = "2026-12-01";
  EXPECT_THAT(error("aws.csv", good), HasSubstr("--as-of 2026-12-01 is after today (2026-11-30)"));
  options.as_of = "yesterday";
  EXPECT_THAT(error("aws.csv", good), HasSubstr("--as-of 'yesterday': expected the day"));
  options.as_of = "";
  options.format = "csv";
  EXPECT_THAT(error("aws.csv", good), HasSubstr("--format 'csv': expected \"auto\", \"gpuhunt\""));
  options.format = "auto";
  options.as_of = "2026-10-01";
  EXPECT_THAT(error("p.go", "package p\n// generated at 2026-10-02T00:00:00Z\nvar x = map[string]map[string]float64{}"),
              StartsWith("p.go:2: the list says it is of 2026-10-02; leave --as-of 2026-10-01 away"));
  EXPECT_THAT(error("../nowhere.csv", ""), HasSubstr("empty"));
  options.files = {folder / "missing.csv"};
  EXPECT_THROW(import_prices(options, catalog), UserError);
  options.files = {folder};
  EXPECT_THROW(import_prices(options, catalog), UserError);
}

TEST_F(Strangers, NamesOfStrangersStayNames) {
  options.as_of = "2026-11-01";
  options.provider = "nebius";
  const auto imported = import("vms.csv",
                               "InstanceType,AcceleratorName,AcceleratorCount,Price,Region\n"
                               "\"a,\"\"b\"\"\",H200 SXM,8,28,\"x,y\"\n"
                               "\x1b[31mred,H200 SXM,8,28,r\n"
                               "\"two\nlines\",H200 SXM,8,28,r\n" +
                                   std::string(200, 'n') + ",H200 SXM,8,28,r\n");
  EXPECT_THAT(imported.merged.added, SizeIs(1));
  EXPECT_EQ(imported.merged.added[0].price.instance, "a,\"b\"");
  EXPECT_THAT(file_text(imported, "prices/nebius.csv"), HasSubstr("\"a,\"\"b\"\"\",\"x,y\",on_demand"));
  EXPECT_THAT(refused(imported), SizeIs(3));
  EXPECT_THAT(faults(imported), IsEmpty());
}

// Cut after any line or anywhere: an error of one sentence, or fewer prices than the whole list has, never others.
TEST_F(Strangers, CutFilesGiveAnErrorOrFewerPrices) {
  options.as_of = "";
  const std::vector<std::pair<std::string, std::string>> lists = {
      {"aws.csv", header + "p5.48xlarge,H100,8,54.5,19.5,eu-new-1\np4d.24xlarge,A100,8,\"20.5\",,eu-new-1\n"},
      {"p.go",
       "package p\n// generated at 2026-10-01T00:00:00Z\nvar x = map[string]map[string]float64{\n\"eu-new-1\": {\n"
       "\"p5.48xlarge\": 54.5, \"p4d.24xlarge\": 20.5,\n},\n}\n"},
      {"p.json", "{\"cn-new\": {\n\"ecs.gn6v-c8g1.2xlarge\": 26.46,\n\"ecs.gn6v-c8g1.16xlarge\": 211.68}}\n"},
      {"p.yml",
       "about:\n  timestamp: 1790826836\ncompute:\n  instance:\n    a3-highgpu-8g:\n      cost:\n        us-new1:\n"
       "          hour: 88.49\n          hour_spot: 50.5\n"},
      {"i.json",
       "[{\"instance_type\": \"p5.48xlarge\", \"pricing\": {\"eu-new-1\": {\"linux\":\n{\"ondemand\": \"54.5\"}}}},\n"
       "{\"instance_type\": \"p4d.24xlarge\", \"pricing\": {\"eu-new-1\": {\"linux\":\n{\"ondemand\": "
       "\"20.5\"}}}}]\n"}};
  const Catalog loaded = load_catalog();
  for (const auto& [name, text] : lists) {
    // "INSTANCE REGION TERM AMOUNT" of each; the error instead when there is one.
    const auto read = [&, file = name](const std::string& content, std::string& sentence) {
      catalog_import::Collector collector(loaded, options.today);
      std::vector<std::string> prices;
      try {
        collector.read(list(file, content), "auto", {}, "");
      } catch (const UserError& refused) {
        sentence = refused.what();
        return prices;
      }
      const auto collected = collector.take();
      for (const auto& [key, cell] : collected.cells) {
        prices.push_back(fmt::format("{} {} {} {}", collected.machines[key.machine].instance,
                                     collected.regions[key.region], static_cast<int>(key.term), cell.low));
      }
      return prices;
    };
    std::string none;
    const auto whole = read(text, none);
    ASSERT_EQ(none, "");
    ASSERT_THAT(whole, SizeIs(testing::Ge(2U))) << name;
    std::size_t errors = 0;
    for (std::size_t length = 0; length < text.size(); ++length) {
      std::string sentence;
      const auto prices = read(text.substr(0, length), sentence);
      if (!sentence.empty()) {
        EXPECT_THAT(sentence, StartsWith((folder / name).string() + ":")) << length;
        EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
        ++errors;
      }
      for (const std::string& price : prices) EXPECT_THAT(whole, Contains(price)) << name << " cut to " << length;
    }
    EXPECT_GT(errors, text.size() / 2) << name;
  }
}

// ---- onto the disk

class Writing : public Imports {};

TEST_F(Writing, ANewDirectoryIsAWholeCatalog) {
  options.as_of = "2026-11-01";
  const auto imported = import("aws.csv", header + "p5.48xlarge,H100,8,54.5,,eu-new-1\n");
  write_catalog(folder / "sub" / "catalog", imported);
  EXPECT_THAT(check_catalog(folder / "sub" / "catalog"), Not(Contains(testing::Field(&CatalogProblem::refused, true))));
  const Catalog loaded = load_catalog(folder / "sub" / "catalog");
  EXPECT_EQ(loaded.prices.size(), load_catalog().prices.size() + 1);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "sub"))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ElementsAre("catalog")) << "nothing half-made stays";
}

TEST_F(Writing, AnExistingCatalogKeepsItsOtherFiles) {
  options.as_of = "2026-11-01";
  write_catalog(folder / "catalog", import("aws.csv", header + "p5.48xlarge,H100,8,54.5,,eu-new-1\n"));
  const auto untouched = std::filesystem::last_write_time(folder / "catalog/prices/gcp.csv");
  std::ofstream(folder / "catalog/README.md") << "mine";
  catalog = catalog_files(folder / "catalog");
  const auto imported = import("aws.csv", header + "p5.48xlarge,H100,8,53.5,,eu-new-2\n");
  EXPECT_THAT(imported.changed, ElementsAre("prices/aws.csv")) << "the source is known already";
  write_catalog(folder / "catalog", imported);
  EXPECT_EQ(std::filesystem::last_write_time(folder / "catalog/prices/gcp.csv"), untouched);
  EXPECT_TRUE(std::filesystem::exists(folder / "catalog/README.md"));
  EXPECT_EQ(load_catalog(folder / "catalog").prices.size(), load_catalog().prices.size() + 2);
}

TEST_F(Writing, WhatCannotBeWrittenIsSaid) {
  const auto imported = import("aws.csv", header + "p5.48xlarge,H100,8,54.5,,eu-new-1\n");
  list("file", "x");
  EXPECT_THROW(write_catalog(folder / "file" / "catalog", imported), UserError);
}

}  // namespace
}  // namespace claimcheck

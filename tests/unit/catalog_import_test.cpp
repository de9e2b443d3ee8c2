// What becomes of a catalog when prices join it.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "harness/catalog/price_rules.h"
#include "tests/unit/import_support.h"

namespace claimcheck {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string header = "InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region\n";

class Joining : public Imports {
 protected:
  // The catalog has 21.957642 of 2026-07-20, and older ones.
  std::string p4d(const std::string& price) const { return header + "p4d.24xlarge,A100,8," + price + ",,us-east-1\n"; }
};

TEST_F(Joining, ANewerPriceStandsBesideTheOldOne) {
  options.as_of = "2026-11-01";
  const auto imported = import("aws.csv", p4d("20.5"));
  ASSERT_THAT(imported.merged.changed, SizeIs(1));
  const auto& row = imported.merged.changed[0];
  EXPECT_EQ(row.price.per_hour, 20.5);
  ASSERT_TRUE(row.before);
  EXPECT_EQ(row.before->per_hour, 21.957642);
  EXPECT_EQ(row.before->as_of, "2026-07-20");
  EXPECT_EQ(row.before->sources, Sources{"karp-aws-price"});
  const std::string file = file_text(imported, "prices/aws.csv");
  EXPECT_THAT(file, HasSubstr("p4d.24xlarge,us-east-1,on_demand,21.957642,,USD"));
  EXPECT_THAT(file, HasSubstr("p4d.24xlarge,us-east-1,on_demand,20.5,,USD,instance-hour,2026-11-01,medium,"
                              "nvidia-a100-sxm-40,8,,,,import-skypilot-aws-2026-11-01"));
  EXPECT_THAT(imported.changed, ElementsAre("sources.json", "prices/aws.csv"));
  EXPECT_THAT(imported.merged.gone, IsEmpty());
  EXPECT_THAT(faults(imported), IsEmpty());
}

TEST_F(Joining, TheSamePriceLaterIsConfirmed) {
  options.as_of = "2026-11-01";
  const auto imported = import("aws.csv", p4d("21.957642"));
  EXPECT_THAT(imported.merged.changed, IsEmpty());
  EXPECT_THAT(texts(imported.merged.confirmed),
              ElementsAre("aws:p4d.24xlarge us-east-1 on_demand 21.957642 USD/instance-hour 2026-11-01"));
}

TEST_F(Joining, OlderUndatedAndSameDayPricesAreNotTaken) {
  options.as_of = "2026-07-19";
  auto kept = import("aws.csv", p4d("20.5")).merged.kept;
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].why, "the catalog's is newer");
  options.as_of = "2026-07-20";
  kept = import("aws.csv", p4d("20.5")).merged.kept;
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].why, HasSubstr("both are of the same day"));
  options.as_of = "";
  const auto imported = import("aws.csv", p4d("20.5"));
  ASSERT_THAT(imported.merged.kept, SizeIs(1));
  EXPECT_EQ(imported.merged.kept[0].why, "the catalog's is newer");
  EXPECT_THAT(imported.changed, IsEmpty()) << "no file is touched";
}

TEST_F(Joining, OnlyReplaceTakesAPriceAway) {
  options.as_of = "2026-07-20";
  options.replace = {"aws:p4d.*"};
  const auto imported = import("aws.csv", p4d("20.5"));
  ASSERT_THAT(imported.merged.replaced, SizeIs(1));
  EXPECT_EQ(imported.merged.replaced[0].before->per_hour, 21.957642);
  EXPECT_THAT(imported.merged.gone, Contains(StartsWith("prices/aws.csv:")));
  const std::string file = file_text(imported, "prices/aws.csv");
  EXPECT_THAT(file, Not(HasSubstr("p4d.24xlarge,us-east-1,on_demand,21.957642")));
  EXPECT_THAT(file, HasSubstr("p4d.24xlarge,us-east-1,on_demand,20.5"));
  EXPECT_THAT(faults(imported), IsEmpty());
  options.replace = {"azure:*", "aws:p4d"};
  EXPECT_THAT(import("aws.csv", p4d("20.5")).merged.replaced, IsEmpty());
}

TEST_F(Joining, ASecondImportOfTheSameListChangesNothing) {
  for (const char* day : {"2026-11-01", ""}) {
    options.as_of = day;
    const std::string text = header + "p5.48xlarge,H100,8,54.5,19.5,eu-new-1\np4d.24xlarge,A100,8,20.5,,eu-new-1\n";
    const auto first = import("aws.csv", text);
    ASSERT_THAT(first.merged.added, SizeIs(3)) << day;
    catalog = first.files;
    const auto second = import("aws.csv", text);
    EXPECT_THAT(second.merged.kept, SizeIs(3));
    EXPECT_EQ(second.merged.kept[0].why, "the catalog has this price");
    EXPECT_THAT(second.changed, IsEmpty());
    catalog = catalog_files(std::nullopt);
  }
}

TEST_F(Joining, TwoListsOfOneImportMeetInTheOrderOfTheirDays) {
  options.provider = "aws";
  const auto go = [](const char* day, const char* price) {
    return fmt::format(
        "package pricing\n// generated at {}T00:00:00Z\nvar x = map[string]map[string]float64{{\n"
        "\"eu-new-1\": {{\"p5.48xlarge\": {}}}}}\n",
        day, price);
  };
  const auto older = list("older.go", go("2026-09-01", "60"));
  const auto newer = list("newer.go", go("2026-10-01", "58"));
  for (const auto& files : {std::vector{older, newer}, std::vector{newer, older}}) {
    const auto imported = import(files);
    EXPECT_THAT(texts(imported.merged.added), ElementsAre(HasSubstr("60 USD/instance-hour 2026-09-01")));
    EXPECT_THAT(texts(imported.merged.changed), ElementsAre(HasSubstr("58 USD/instance-hour 2026-10-01")));
  }
}

TEST_F(Joining, PerGpuPricesOfNodesAreRefused) {
  options.as_of = "2026-11-01";
  const auto imported = import("aws.csv", header + "p5.48xlarge,H100,8,2.49,,eu-new-1\n");
  EXPECT_THAT(refused(imported), ElementsAre(AllOf(StartsWith("far from its peers in the catalog"),
                                                   HasSubstr("a factor"), HasSubstr("below its peers"))));
}

// A flood of new prices may not turn the catalog's own into outliers.
TEST_F(Joining, TheCatalogsOwnPricesStayInTheRight) {
  options.as_of = "2026-11-01";
  std::string text = header;
  for (int i = 0; i < 400; ++i) text += fmt::format("p5.48xlarge,H100,8,{},,flood-{}\n", 180 + i % 7, i);
  const auto imported = import("aws.csv", text);
  EXPECT_THAT(faults(imported), IsEmpty());
}

TEST(FitsPattern, StarsAndQuestionMarks) {
  using catalog_import::fits_pattern;
  EXPECT_TRUE(fits_pattern("aws:p5.48xlarge", "*"));
  EXPECT_TRUE(fits_pattern("aws:p5.48xlarge", "aws:p5.*"));
  EXPECT_TRUE(fits_pattern("aws:p5.48xlarge", "*:p?.*large"));
  EXPECT_TRUE(fits_pattern("abcbc", "a*bc"));
  EXPECT_FALSE(fits_pattern("aws:p5.48xlarge", "aws:p5"));
  EXPECT_FALSE(fits_pattern("aws:p5.48xlarge", "azure:*"));
  EXPECT_FALSE(fits_pattern("", "?"));
}

// ---- properties

// Machines, regions and prices drawn with a fixed seed; some rows are traps.
std::string random_rows(unsigned seed, std::vector<std::string>& rows) {
  std::mt19937 random(seed);
  const auto pick = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  const std::vector<std::tuple<const char*, const char*, int, double>> machines = {{"p5.48xlarge", "H100", 8, 55},
                                                                                   {"p4d.24xlarge", "A100", 8, 22},
                                                                                   {"g5.xlarge", "A10G", 1, 1},
                                                                                   {"m5.large", "", 0, 0.1},
                                                                                   {"p3.16xlarge", "V100", 8, 24}};
  for (int i = 0; i < 120; ++i) {
    const auto& [instance, card, count, price] = machines[static_cast<std::size_t>(pick(5))];
    const double amount = pick(15) == 0 ? 0 : price * (0.8 + 0.01 * pick(50));
    const double spot = amount * (pick(9) == 0 ? 0.1 : pick(9) == 0 ? 1.2 : 0.2 + 0.01 * pick(40));
    rows.push_back(fmt::format("{},{},{},{:.4f},{:.4f},region-{}\n", instance, card,
                               count == 0 ? "" : std::to_string(count), amount, spot, pick(6)));
  }
  return header;
}

TEST_F(Joining, ShuffledAndRepeatedRowsGiveTheSameCatalog) {
  options.as_of = "2026-11-01";
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::vector<std::string> rows;
    const std::string head = random_rows(seed, rows);
    const auto text = [&] {
      std::string all = head;
      for (const std::string& row : rows) all += row;
      return all;
    };
    const auto first = import("aws.csv", text());
    EXPECT_THAT(faults(first), IsEmpty()) << seed;
    std::mt19937 random(seed);
    std::shuffle(rows.begin(), rows.end(), random);
    const std::size_t count = rows.size();
    for (std::size_t i = 0; i < count; i += 3)
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(random() % rows.size()), rows[i]);
    const auto second = import("aws.csv", text());
    EXPECT_EQ(first.changed, second.changed) << seed;
    ASSERT_EQ(first.files.size(), second.files.size());
    for (std::size_t i = 0; i < first.files.size(); ++i) {
      EXPECT_EQ(first.files[i].text, second.files[i].text) << seed << " " << first.files[i].path;
    }
    // One list in two files is one list.
    const std::size_t half = rows.size() / 2;
    std::string a = head;
    std::string b = head;
    for (std::size_t i = 0; i < rows.size(); ++i) (i < half ? a : b) += rows[i];
    const auto split = import({list("b/aws.csv", b), list("a/aws.csv", a)});
    EXPECT_EQ(file_text(first, "prices/aws.csv"), file_text(split, "prices/aws.csv")) << seed;
  }
}

TEST(PriceRules, AgreeWithAMedianByHand) {
  Catalog catalog;
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    Price price;
    price.provider = "p";
    price.instance = "i" + std::to_string(i);
    price.region = "r";
    price.term = "on_demand";
    price.currency = "USD";
    price.unit = "instance-hour";
    price.accelerator = "card";
    price.accelerator_count = 1 + i % 3;
    price.per_hour = std::exp(0.002 * static_cast<double>(random() % 1000)) * (i % 11 == 0 ? 9 : 1);
    if (i % 13 == 0) price.outlier = "marked";
    catalog.prices.push_back(price);
  }
  std::vector<const Price*> prices;
  for (const Price& price : catalog.prices) prices.push_back(&price);
  const catalog_checks::PriceRules rules(catalog, prices);
  int off = 0;
  for (const Price& one : catalog.prices) {
    std::vector<double> others;
    for (const Price& price : catalog.prices) {
      if (&price != &one && price.outlier.empty()) others.push_back(*price.per_hour / *price.accelerator_count);
    }
    std::sort(others.begin(), others.end());
    const std::size_t half = others.size() / 2;
    const double median = others.size() % 2 == 1 ? others[half] : (others[half - 1] + others[half]) / 2;
    const double value = *one.per_hour / *one.accelerator_count;
    const bool far = std::max(value / median, median / value) >= 5;
    EXPECT_EQ(!rules.off_its_peers(one).empty(), far) << one.instance;
    off += far ? 1 : 0;
  }
  EXPECT_GT(off, 0);
}

}  // namespace
}  // namespace claimcheck

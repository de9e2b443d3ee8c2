// The metric table against its page, and "did you mean".
#include "harness/result/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/metrics_page.h"
#include "harness/nearest.h"

namespace claimcheck {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(metrics, keys_are_unique_and_well_formed) {
  std::set<std::string> keys;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(is_metric_key(metric.key)) << metric.key;
    EXPECT_TRUE(keys.insert(metric.key).second) << metric.key;
    EXPECT_EQ(find_metric(metric.key), &metric);
    EXPECT_GT(metric.tolerance, 0) << metric.key;
    EXPECT_LT(metric.tolerance, 1) << metric.key;
  }
  EXPECT_EQ(find_metric("memory.triad"), nullptr);
  EXPECT_EQ(find_metric(""), nullptr);
}

TEST(metrics, the_unit_is_what_the_key_ends_with) {
  const std::vector<std::pair<std::string, std::string>> units = {
      {".gbps", "GB/s"},
      {".tflops", "TFLOPS"},
      {".tops", "TOPS"},
      {".us", "us"},
      {".ns", "ns"},
      {".iops", "IOPS"},
      {".efficiency", "1"},
      {".share", "1"},
      {".retention", "1"},
      {".mfu", "1"},
      {".seconds", "s"},
      {".tokens_per_second", "tokens/s"},
      {".samples_per_second", "samples/s"},
  };
  for (const Metric& metric : metrics()) {
    std::string unit;
    for (const auto& [end, name] : units) {
      if (metric.key.ends_with(end)) unit = name;
    }
    EXPECT_EQ(metric.unit, unit) << metric.key;
    const bool time = unit == "us" || unit == "ns" || unit == "s";
    EXPECT_EQ(metric.better == Better::lower, time || metric.key.ends_with(".share")) << metric.key;
    // Of efficiencies the worst speaks, and of a soak's minutes; of rates and what is made of one the best.
    const bool worst = (unit == "1" && !metric.key.ends_with(".mfu")) || metric.key.starts_with("soak.");
    EXPECT_EQ(metric.select == Select::min, time || worst) << metric.key;
  }
}

TEST(metrics, what_the_program_measures_is_in_the_table) {
  for (const char* key : {"memory.read.gbps", "memory.triad.gbps", "gemm.fp64.tflops", "gemm.bf16.tflops",
                          "gemm.fp8_e4m3.tflops", "gemm.int8.tops", "allreduce.busbw.gbps", "sendrecv.latency.us",
                          "alltoall.algbw.gbps", "scaling.memory.efficiency", "scaling.gemm.tflops",
                          "storage.write.gbps", "storage.random_read.iops", "storage.random_write.latency.us"}) {
    EXPECT_NE(find_metric(key), nullptr) << key;
  }
}

TEST(metrics, every_key_has_a_section_and_every_section_of_a_key_has_a_metric) {
  std::set<std::string> defined;
  for (const PageSection& section : metric_sections()) {
    EXPECT_FALSE(section.words.empty());
    EXPECT_GT(section.text.size(), 60U) << section.words.front();
    for (const std::string& word : section.words) {
      EXPECT_TRUE(defined.insert(word).second) << word << " is defined twice";
      if (is_metric_key(word)) {
        EXPECT_NE(find_metric(word), nullptr) << word << " is not in metrics.json";
      }
    }
  }
  for (const Metric& metric : metrics()) EXPECT_TRUE(defined.count(metric.key)) << metric.key << " has no section";
}

TEST(metrics, sections_of_metrics_say_what_they_have_to) {
  for (const Metric& metric : metrics()) {
    const std::string& text = find_section(metric.key)->text;
    for (const char* part : {"**Definition.**", "**What moves it.**", "**What it is not.**"}) {
      EXPECT_THAT(text, testing::HasSubstr(part)) << metric.key;
    }
  }
}

TEST(metrics, other_numbers_are_defined_too) {
  for (const char* word : {"cv", "ci95", "cost per useful EFLOP", "useful FLOPS", "percent of claim", "goodput", "MFU",
                           "typical", "status", "verdict"}) {
    EXPECT_NE(find_section(word), nullptr) << word;
  }
  EXPECT_EQ(find_section("COST PER USEFUL eflop"), find_section("cost per useful EFLOP"));
  EXPECT_EQ(find_section("no such number"), nullptr);
}

TEST(metrics, pages_are_cut_at_headings) {
  const auto sections = sections_of("# Title\nintro\n## `a.b`, c d\n\nfirst\n### deeper\nmore\n\n## e\n");
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_THAT(sections[0].words, ElementsAre("a.b", "c d"));
  EXPECT_EQ(sections[0].text, "first\n### deeper\nmore");
  EXPECT_THAT(sections[1].words, ElementsAre("e"));
  EXPECT_EQ(sections[1].text, "");
  EXPECT_THAT(sections_of(""), IsEmpty());
}

TEST(metrics, key_form) {
  EXPECT_TRUE(is_metric_key("gemm.fp8_e4m3.tflops"));
  for (const char* bad : {"", "memory", "memory.", ".memory", "a..b", "Memory.triad", "a b.c", "a-b.c"}) {
    EXPECT_FALSE(is_metric_key(bad)) << bad;
  }
}

TEST(nearest, orders_by_edits) {
  const std::vector<std::string> words = {"timed_out", "unstable", "unsupported", "ok"};
  EXPECT_THAT(nearest("timeout", words, 1), ElementsAre("timed_out"));  // two insertions
  EXPECT_THAT(nearest("unstabel", words, 1), ElementsAre("unstable"));  // one swap
  EXPECT_THAT(nearest("KO", words, 1), ElementsAre("ok"));
  EXPECT_THAT(nearest("qqqqqqqqqqqqqqqqqqqqqqqqq", words, 3), IsEmpty());
  EXPECT_THAT(nearest("ok", {}, 3), IsEmpty());
}

TEST(nearest, finds_metrics_by_typo_and_by_part) {
  EXPECT_THAT(near_metrics("memory.traid.gbps", 1), ElementsAre("memory.triad.gbps"));
  EXPECT_THAT(near_metrics("triad", 1), ElementsAre("memory.triad.gbps"));
  EXPECT_THAT(near_metrics("gemm.bf16.tflop", 1), ElementsAre("gemm.bf16.tflops"));
  EXPECT_EQ(near_metrics("memory.triad.gbp").front(), "memory.triad.gbps");
  EXPECT_LE(near_metrics("gemm").size(), 3U);
  EXPECT_NO_FATAL_FAILURE(near_metrics(std::string(1'000'000, 'x')));
}

TEST(nearest, choices_read_as_a_sentence) {
  EXPECT_EQ(quoted_choice({}), "");
  EXPECT_EQ(quoted_choice({"a"}), "\"a\"");
  EXPECT_EQ(quoted_choice({"a", "b"}), "\"a\" or \"b\"");
  EXPECT_EQ(quoted_choice({"a", "b", "c"}), "\"a\", \"b\" or \"c\"");
}

}  // namespace
}  // namespace claimcheck

// Fit or not: findings from ticks, device facts and sensors made by hand.
#include "harness/preflight/preflight.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "harness/preflight/cpu_now.h"
#include "harness/report/annotations.h"
#include "harness/report/markdown_text.h"
#include "tests/unit/made_results.h"

namespace claimcheck::preflight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ids(const std::vector<Finding>& findings) {
  std::vector<std::string> found;
  for (const Finding& finding : findings) found.push_back(finding.id + " " + finding.severity);
  return found;
}

TEST(CpuNow, TicksByHand) {
  // user 10, nice 1, system 5, idle 70, iowait 3, irq 1, softirq 2, steal 8: 100 in all, 19 busy.
  const auto ticks = cpu_ticks("cpu  10 1 5 70 3 1 2 8 0 0\ncpu0 5 ...\n");
  ASSERT_TRUE(ticks);
  EXPECT_DOUBLE_EQ(ticks->total, 100);
  EXPECT_DOUBLE_EQ(ticks->steal, 8);
  EXPECT_DOUBLE_EQ(ticks->busy, 19);
  EXPECT_FALSE(cpu_ticks(""));
  EXPECT_FALSE(cpu_ticks("cpu 1 2 3"));
  EXPECT_FALSE(cpu_ticks("intr 1 2 3 4 5 6 7 8"));
}

TEST(CpuNow, WhatOthersTake) {
  const CpuTicks before{100, 10, 1000};
  EXPECT_THAT(cpu_findings(before, CpuTicks{105, 10, 1200}, std::nullopt), IsEmpty());  // 2.5 %
  EXPECT_THAT(ids(cpu_findings(before, CpuTicks{130, 10, 1200}, std::nullopt)), ElementsAre("cpu.busy warning"));
  EXPECT_THAT(ids(cpu_findings(before, CpuTicks{160, 10, 1200}, std::nullopt)), ElementsAre("cpu.busy error"));
  EXPECT_THAT(ids(cpu_findings(before, CpuTicks{100, 20, 1200}, std::nullopt)), ElementsAre("cpu.steal_now error"));
  EXPECT_THAT(cpu_findings(before, before, std::nullopt), IsEmpty());  // a file that never changes
  EXPECT_THAT(cpu_findings(std::nullopt, before, std::nullopt), IsEmpty());
  EXPECT_THAT(cpu_findings(before, CpuTicks{160, 10, 1200}, std::nullopt).front().text,
              HasSubstr("Other processes use 30 % of the CPUs"));
}

TEST(CpuNow, LoadOfTheLastMinute) {
  EXPECT_DOUBLE_EQ(*load_a_cpu("1.50 0.8 0.3 2/345 678\n", 2), 0.75);
  EXPECT_FALSE(load_a_cpu("", 2));
  EXPECT_FALSE(load_a_cpu("1.5", 0));
  EXPECT_THAT(ids(cpu_findings(std::nullopt, std::nullopt, 0.75)), ElementsAre("cpu.load warning"));
  EXPECT_THAT(cpu_findings(std::nullopt, std::nullopt, 0.4), IsEmpty());
}

TEST(Load, HasToBeRightAndSteady) {
  Document document = made::gpu_node();
  document.measurements = {made::measured("gemm.bf16/n:8192", "gemm.bf16.tflops", "TFLOPS", made::six(700))};
  EXPECT_THAT(load_findings(document), IsEmpty());
  document.measurements[0].status = Outcome::wrong_result;
  document.measurements[0].reason = "element 7 is off";
  EXPECT_THAT(ids(load_findings(document)), ElementsAre("load.wrong_result:gemm.bf16/n:8192 error"));
  document.measurements[0].status = Outcome::unstable;
  EXPECT_THAT(load_findings(document)[0].text, HasSubstr("did not hold still"));
  document.measurements[0].status = Outcome::unsupported;
  EXPECT_THAT(load_findings(document), IsEmpty());
}

TEST(Load, WhatSpoilsEveryFigureIsAnError) {
  std::vector<Finding> findings = {{"gpu.in_use", "warning", "t", ""},
                                   {"gpu.throttled", "warning", "t", ""},
                                   {"gpu.clocks_low", "warning", "t", ""},
                                   {"gpu.power_limit", "warning", "t", ""},
                                   {"gpu.in_user", "warning", "t", ""}};
  raise_what_spoils(findings);
  EXPECT_THAT(ids(findings), ElementsAre("gpu.in_use error", "gpu.throttled error", "gpu.clocks_low error",
                                         "gpu.power_limit warning", "gpu.in_user warning"));
}

PlannedCase planned(const std::string& id, double seconds, double iteration, int priority = 1,
                    const std::string& scope = "each_device") {
  PlannedCase made;
  made.what.id = id;
  made.what.scope = scope;
  made.what.priority = priority;
  made.what.iteration_seconds = iteration;
  made.estimated_seconds = seconds;
  return made;
}

TEST(ShortLoad, OneCaseAFamilyWithinTheTime) {
  Plan plan;
  plan.cases = {planned("gemm.a/n:1", 2, 0.1), planned("gemm.a/n:2", 3, 0.4), planned("memory.x", 2, 0.1),
                planned("links.y", 20, 1),     planned("other.z", 2, 0.1, 2), planned("all.w", 2, 0.1, 1, "ranks")};
  const auto cases = short_load(plan, 12);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].what.id, "gemm.a/n:2");
  EXPECT_EQ(cases[1].what.id, "memory.x");
  EXPECT_EQ(short_load(plan, 4).size(), 1u);
}

TEST(Answers, ErrorsAreUnfitWarningsOnlyWhenStrict) {
  Answer answer;
  EXPECT_TRUE(is_fit(answer, true));
  answer.document.findings = {{"a", "info", "A fact.", ""}, {"b", "warning", "A thing.", ""}};
  EXPECT_EQ(exit_code(answer, false), ExitCode::ok);
  EXPECT_EQ(exit_code(answer, true), ExitCode::incomplete);
  EXPECT_EQ(verdict_sentence(answer, false), "Fit to benchmark, with 1 thing to know of.");
  answer.document.findings.push_back({"c", "error", "Broken.", "Mend it."});
  EXPECT_EQ(exit_code(answer, false), ExitCode::incomplete);
  EXPECT_EQ(verdict_sentence(answer, false), "Not fit to benchmark: Broken.");
}

TEST(Annotations, NothingEndsTheCommand) {
  EXPECT_EQ(annotation_lines({{"error", "a: b, c", "50 % off\n::warning::x"}}),
            "::error title=a%3A b%2C c::50 %25 off%0A::warning::x\n");
}

TEST(Annotations, TenOfALevelErrorsFirst) {
  std::vector<Annotation> many(12, {"warning", "w", "text"});
  many.push_back({"error", "e", "text"});
  const std::string lines = annotation_lines(many);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 11);
  EXPECT_TRUE(lines.starts_with("::error title=e::text\n"));
  EXPECT_THAT(lines, HasSubstr("::warning title=claimcheck::and 3 more; the summary has them all\n"));
}

TEST(MarkdownText, StaysText) {
  EXPECT_EQ(markdown_text("a|b *c* <d>"), "a\\|b \\*c\\* \\<d\\>");
  EXPECT_EQ(markdown_text("@all #12 http://x\ny"), "\\@<!-- -->all \\#<!-- -->12 http:<!-- -->//x y");
}

}  // namespace
}  // namespace claimcheck::preflight

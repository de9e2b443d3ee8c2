// Logs that name ever new things: what is kept has a limit, and what is beyond it is said.
#include <fmt/format.h>

#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using testing::HasSubstr;
using testing::Not;

TEST(import_limits, events_of_the_kernel) {
  std::string text;
  for (int i = 0; i < 1200; ++i) text += fmt::format("[ 1.0] NVRM: Xid (PCI:{:04x}:01:00): 31, pid=1, name=a, x\n", i);
  const Imported run = imported(text);
  EXPECT_EQ(run.document.findings.size(), 1000U);
  EXPECT_THAT(remarks(run), HasSubstr("more than 1000 different events"));
  EXPECT_THAT(remarks(imported(text.substr(0, text.size() / 2))), Not(HasSubstr("more than")));
}

TEST(import_limits, tests_of_dcgm) {
  std::string text = "| Diagnostic | Result |\n|-----  Hardware  -----+---|\n";
  for (int i = 0; i < 600; ++i) text += fmt::format("| test{} | Pass |\n", i);
  const Imported run = imported(text + "+----+----+\n");
  EXPECT_EQ(run.document.system["software"]["dcgm_diag"].size(), 500U);
  EXPECT_THAT(remarks(run), HasSubstr("more than 500 tests"));
}

TEST(import_limits, jobs_of_fio) {
  std::string text = "fio-3.36\n";
  for (int i = 0; i < 10'050; ++i) text += fmt::format("job{}: (groupid=0, jobs=1): err= 0: pid=1: now\n", i);
  EXPECT_THAT(remarks(imported(text)), HasSubstr("more than 10000 jobs"));
}

TEST(import_limits, kinds_of_gpus) {
  std::string text = "# Using devices\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("#  Rank  {} Group  0 Pid  1 on   box device  {} [0x00] NVIDIA Model{:02}\n", i, i, i);
  text += "#  Rank  100000 Group  0 Pid  1 on   box device  0 [0x00] NVIDIA Model99\n";
  const Imported run = imported(text);
  EXPECT_THAT(finding(run, "import.heterogeneous")->text, HasSubstr("1 x NVIDIA Model07 and 4 other kinds."));
  EXPECT_EQ(run.files[0].not_understood, 1U);
  EXPECT_EQ(run.files[0].examples.at(0), 14U);
}

TEST(import_limits, a_document_in_json) {
  std::string text = "{\n\"benchmarks\": [\n";
  while (text.size() <= std::size_t{16} << 20)
    text += "{\"name\": \"a\", \"more\": \"" + std::string(1000, 'x') + "\"},\n";
  EXPECT_THROW(imported(text + "{}]}\n"), UserError);
}

}  // namespace
}  // namespace claimcheck

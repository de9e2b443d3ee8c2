// The journal on disk: torn lines, locks, what --resume makes of it.
#include "harness/run/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "harness/error.h"
#include "harness/result/document.h"
#include "harness/run/resume.h"

namespace claimcheck {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "claimcheck-journal-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    file_ = folder_ / "journal.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }
  void append_raw(const std::string& text) { std::ofstream(file_, std::ios::app | std::ios::binary) << text; }

  fs::path folder_;
  fs::path file_;
};

TEST_F(JournalTest, WhatIsAppendedIsRead) {
  {
    Journal journal(file_);
    journal.append({{"kind", "run"}, {"text", "two\nlines"}});
    journal.append({{"kind", "end"}, {"id", "a"}});
  }
  const auto lines = read_journal(file_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["text"], "two\nlines");
  EXPECT_EQ(lines[1]["id"], "a");
}

TEST_F(JournalTest, ATornLastLineIsIgnoredAndThenCutOff) {
  append_raw("{\"kind\":\"run\"}\n{\"kind\":\"measurem");
  EXPECT_EQ(read_journal(file_).size(), 1u);
  {
    Journal journal(file_);
    journal.append({{"kind", "end"}});
  }
  const auto lines = read_journal(file_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["kind"], "end");
}

TEST_F(JournalTest, ABrokenLineInTheMiddleIsNamed) {
  append_raw("{\"kind\":\"run\"}\nnonsense\n{\"kind\":\"end\"}\n");
  try {
    read_journal(file_);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("journal.jsonl:2:"));
  }
}

TEST_F(JournalTest, TwoWritersAreRefused) {
  const Journal first(file_);
  EXPECT_THROW(Journal second(file_), UserError);
}

TEST_F(JournalTest, AFullDiskIsAnErrorWithTheCause) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  fs::create_symlink("/dev/full", file_);
  Journal journal(file_);
  try {
    journal.append({{"kind", "run"}});
    FAIL();
  } catch (const JournalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("No space left on device"));
  }
}

TEST_F(JournalTest, ResumeKeepsWhatEndedAndDropsWhatDidNot) {
  Plan plan;
  for (const char* id : {"a", "b", "c"}) {
    BenchmarkCase what;
    what.id = id;
    what.benchmark = id;
    what.metric = "memory.triad.gbps";
    what.unit = "GB/s";
    what.method = "memory/1";
    plan.cases.push_back({what, 2.5});
  }
  Measurement measurement;
  measurement.metric = "memory.triad.gbps";
  measurement.unit = "GB/s";
  measurement.status = Outcome::ok;
  measurement.value = 31.5;
  measurement.conditions["method"] = "memory/1";
  {
    Journal journal(file_);
    MeasureSettings settings;
    settings.max_bytes = 1 << 20;
    JudgeSettings judge;
    judge.claims = {"memory.triad.gbps>=30"};
    journal.append({{"kind", "run"},
                    {"id", "x"},
                    {"settings", {{"measure", to_json(settings)}, {"judge", to_json(judge)}}},
                    {"plan", to_json(plan)}});
    measurement.id = "a";
    journal.append({{"kind", "begin"}, {"id", "a"}});
    journal.append({{"kind", "measurement"}, {"measurement", to_json(measurement)}});
    journal.append({{"kind", "end"}, {"id", "a"}, {"seconds", 1.5}});
    measurement.id = "b";
    journal.append({{"kind", "begin"}, {"id", "b"}});
    journal.append({{"kind", "measurement"}, {"measurement", to_json(measurement)}});
  }
  const Resumed resumed = read_resumed(file_);
  ASSERT_EQ(resumed.measurements.size(), 1u);
  EXPECT_EQ(resumed.measurements[0].id, "a");
  EXPECT_DOUBLE_EQ(*resumed.measurements[0].value, 31.5);
  ASSERT_EQ(resumed.rest.cases.size(), 2u);
  EXPECT_EQ(resumed.rest.cases[0].what.id, "b");
  EXPECT_EQ(resumed.plan.cases.size(), 3u);
  EXPECT_DOUBLE_EQ(resumed.measured_seconds, 1.5);
  EXPECT_EQ(resumed.measure.max_bytes, 1u << 20);
  EXPECT_EQ(resumed.judge.claims.at(0), "memory.triad.gbps>=30");
}

TEST_F(JournalTest, NothingBegunCannotBeResumed) {
  append_raw("{\"kind\":\"end\",\"id\":\"a\"}\n");
  try {
    read_resumed(file_);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no run was begun in it"));
  }
}

}  // namespace
}  // namespace claimcheck

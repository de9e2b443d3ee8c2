// Events of a worker between foreign text, and what their samples become.
#include "harness/run/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace claimcheck {
namespace {

using testing::ElementsAre;

nlohmann::json event_with(const std::string& samples, const std::string& status = "ok") {
  return nlohmann::json::parse(
      R"({"event":"measurement","measurement":{"id":"memory.triad","metric":"memory.triad.gbps",
    "unit":"GB/s","status":")" +
      status + R"(","reason":"","samples":)" + samples + R"(,"conditions":{"method":"memory/1"},
    "devices":[{"index":0,"name":"cpu","samples":)" +
      samples + R"(}],"evidence":{}}})");
}

TEST(ParseEvent, PlainLine) {
  const auto event = parse_event(R"(@claimcheck {"event":"begin","id":"memory.triad"})");
  ASSERT_TRUE(event);
  EXPECT_EQ((*event)["id"], "memory.triad");
}

TEST(ParseEvent, LauncherPrefixAndForeignTail) {
  const auto event = parse_event(R"([1,0]<stdout>: @claimcheck {"event":"end","id":"a}\"b"} [node7])");
  ASSERT_TRUE(event);
  EXPECT_EQ((*event)["id"], "a}\"b");
}

TEST(ParseEvent, ForeignLinesAreNoEvents) {
  for (const char* line :
       {"", "NCCL INFO Bootstrap", "@claimcheck", "@claimcheck ", "@claimcheck {", "@claimcheck [1]",
        "@claimcheck {\"event\":1}", "@claimcheck {\"id\":\"x\"}", "@claimcheck {\"event\":\"begin\"",
        "@claimcheck {\"event\":nan}", "\xff\xfe@claimcheck \xff"}) {
    EXPECT_FALSE(parse_event(line)) << line;
  }
}

TEST(MeasurementFromEvent, StatisticsAreMadeOfTheSamples) {
  const Measurement measurement = measurement_from_event(event_with("[10, 12, 11, 9, 13, 10]"));
  EXPECT_EQ(measurement.status, Outcome::ok);
  ASSERT_TRUE(measurement.statistics);
  EXPECT_DOUBLE_EQ(*measurement.value, 10.5);  // by hand: sorted 9 10 10 11 12 13
  EXPECT_DOUBLE_EQ(measurement.statistics->min, 9);
  EXPECT_DOUBLE_EQ(measurement.statistics->max, 13);
  ASSERT_EQ(measurement.devices.size(), 1u);
  EXPECT_DOUBLE_EQ(*measurement.devices[0].value, 10.5);
  EXPECT_EQ(measurement.conditions["method"], "memory/1");
}

TEST(MeasurementFromEvent, ZeroOrMissingRateIsNeverAResult) {
  for (const char* samples : {"[0, 0, 0]", "[10, 0]", "[10, null]", "[-1]", "[]"}) {
    const Measurement measurement = measurement_from_event(event_with(samples));
    EXPECT_EQ(measurement.status, Outcome::failed) << samples;
    EXPECT_FALSE(measurement.value) << samples;
    EXPECT_FALSE(measurement.reason.empty()) << samples;
  }
}

TEST(MeasurementFromEvent, WrongResultHasNoNumber) {
  const Measurement measurement = measurement_from_event(event_with("[10, 11]", "wrong_result"));
  EXPECT_EQ(measurement.status, Outcome::wrong_result);
  EXPECT_FALSE(measurement.value);
}

TEST(MeasurementFromEvent, WideSpreadIsUnstable) {
  // mean 10, sample standard deviation 5 (values 5, 10, 15): 50 %, above the limit of 30 %.
  const Measurement measurement = measurement_from_event(event_with("[5, 10, 15]"));
  EXPECT_EQ(measurement.status, Outcome::unstable);
  EXPECT_DOUBLE_EQ(measurement.statistics->cv, 0.5);
  EXPECT_FALSE(measurement.usable());
}

TEST(MeasurementFromEvent, MalformedNamesTheField) {
  nlohmann::json event = event_with("[1]");
  event["measurement"]["status"] = "great";
  try {
    measurement_from_event(event);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "\"status\" is \"great\"");
  }
  event["measurement"].erase("unit");
  EXPECT_THROW(measurement_from_event(event), std::invalid_argument);
  EXPECT_THROW(measurement_from_event(nlohmann::json{{"event", "measurement"}}), std::invalid_argument);
}

TEST(LineReader, LinesInPiecesAndTheLastWithoutEnd) {
  LineReader reader;
  std::vector<std::string> lines;
  const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
  reader.feed("one\ntw", sink);
  reader.feed("o\n\nthr", sink);
  reader.finish(sink);
  EXPECT_THAT(lines, ElementsAre("one", "two", "", "thr"));
}

TEST(LineReader, AnEndlessLineIsDroppedAndTheNextOneRead) {
  LineReader reader(8);
  std::vector<std::string> lines;
  const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
  for (int i = 0; i < 1000; ++i) reader.feed("0123456789", sink);
  reader.feed("\nnext\n", sink);
  EXPECT_THAT(lines, ElementsAre("next"));
  EXPECT_EQ(reader.dropped(), 1u);
}

TEST(LineReader, AnEventBehindAnEndlessTextIsRead) {
  LineReader reader(64);
  std::vector<std::string> lines;
  const auto sink = [&](std::string_view line) { lines.emplace_back(line); };
  for (int i = 0; i < 1000; ++i) reader.feed("no line end ", sink);
  reader.feed("@claim", sink);
  reader.feed("check {\"event\":\"bye\"}\nnext\n", sink);
  EXPECT_THAT(lines, ElementsAre(testing::EndsWith("@claimcheck {\"event\":\"bye\"}"), "next"));
  reader.feed("@claimcheck {" + std::string(100, 'x'), sink);
  reader.feed(std::string(100, 'x') + "}\nlast\n", sink);
  EXPECT_THAT(lines.back(), "last");
  EXPECT_EQ(lines.size(), 3u);
  EXPECT_EQ(reader.dropped(), 2u);
}

}  // namespace
}  // namespace claimcheck

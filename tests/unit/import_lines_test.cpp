// Lines as they come out of launchers and terminals; numbers as people and tools write them; JSON within a log.
#include "harness/import/fields.h"
#include "harness/import/json_text.h"
#include "harness/import/line.h"
#include "tests/unit/import_log_support.h"

namespace claimcheck {
namespace {

using namespace import_test;
using importing::Line;
using importing::LineReader;
using testing::ElementsAre;

struct Seen {
  std::size_t number;
  std::string text;
  bool operator==(const Seen& other) const { return number == other.number && text == other.text; }
};

std::vector<Seen> lines_of(const std::string& text) {
  const TextFile file(text);
  LineReader reader(file.path());
  std::vector<Seen> seen;
  Line line;
  while (reader.next(line)) seen.push_back({line.number, std::string(line.text)});
  return seen;
}

std::vector<std::string> texts_of(const std::string& text) {
  std::vector<std::string> texts;
  for (const Seen& seen : lines_of(text)) texts.push_back(seen.text);
  return texts;
}

TEST(import_lines, ends_of_all_kinds) {
  EXPECT_EQ(lines_of("a\nb\r\nc\r 10 %\r 20 %\nd"),
            (std::vector<Seen>{{1, "a"}, {2, "b"}, {3, "c"}, {3, " 10 %"}, {3, " 20 %"}, {4, "d"}}));
  EXPECT_EQ(texts_of("").size(), 0u);
  EXPECT_THAT(texts_of("\n\n"), ElementsAre("", ""));
  EXPECT_THAT(texts_of("\xef\xbb\xbfmark"), ElementsAre("\xef\xbb\xbfmark"));
}

TEST(import_lines, a_byte_order_mark_is_no_text) {
  const TextFile file("\xef\xbb\xbfmark\n");
  LineReader reader(file.path());
  EXPECT_EQ(reader.head(100), "mark\n");
  Line line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "mark");
}

TEST(import_lines, colours_and_controls_are_gone) {
  EXPECT_THAT(texts_of("\x1b[1;31mred\x1b[0m end \n\x1b]0;title\x07x\n\x1b]8;;u\x1b\\y\nbad\xff\x01\n"),
              ElementsAre("red end", "x", "y", "bad\ufffd\ufffd"));
}

TEST(import_lines, prefixes_of_launchers) {
  EXPECT_THAT(texts_of("[1,0]<stdout>:# size\n   [1,12]<stderr>: x\n3:     1024  256\n12: # row\n"
                       "node-1: # size\npod/a.b:     1024 256 float\n"),
              ElementsAre("# size", " x", "     1024  256", " # row", " # size", "     1024 256 float"));
  EXPECT_THAT(texts_of("Device 0: NVIDIA\nvalue: 12 GB\n123456: x\n[0] NCCL INFO\nGPU 1: x\n"),
              ElementsAre("Device 0: NVIDIA", "value: 12 GB", "123456: x", "[0] NCCL INFO", "GPU 1: x"));
}

TEST(import_lines, a_name_is_a_machine_once_a_table_followed_it) {
  EXPECT_THAT(
      texts_of("node-1: start\nnode-1: # nThread 1\nnode-1: start\nnode-2: start\n"
               "a-3:     1_024   256  float\na-3: end\n"),
      ElementsAre("node-1: start", " # nThread 1", " start", "node-2: start", "     1_024   256  float", " end"));
  for (const std::string line : {"Copy:          120000.0     0.010659     0.010658", "Total:      12 files",
                                 "Rank:    1    2    3", "Sizes:     1024   2048"})
    EXPECT_THAT(texts_of(line + "\n"), ElementsAre(line));
}

TEST(import_lines, a_line_without_end_costs_no_memory) {
  const TextFile file("begin " + std::string(5 << 20, 'x') + "\nnext\n");
  LineReader reader(file.path());
  Line line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(line.cut);
  EXPECT_EQ(line.text.size(), importing::max_line_bytes);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line.text, "next");
  EXPECT_EQ(line.number, 2u);
  EXPECT_FALSE(line.cut);
}

TEST(import_lines, what_cannot_be_read_is_said) {
  EXPECT_THROW(LineReader("/nonexistent/file"), UserError);
  EXPECT_THROW(LineReader(std::filesystem::temp_directory_path()), UserError);
}

TEST(import_fields, numbers) {
  using importing::number;
  EXPECT_EQ(number("12"), 12);
  EXPECT_EQ(number("1.5e-06"), 1.5e-6);
  EXPECT_EQ(number("17_179_869_184"), 17179869184.0);
  EXPECT_EQ(number("1048_576"), 1048576);
  for (const char* none : {"", "N/A", "12GB", "1,5", "_1", "1_", "1__2x", "nan", "inf", "0x10", "--"})
    EXPECT_FALSE(number(none)) << none;
}

TEST(import_fields, sizes_and_quantities) {
  using importing::binary_bytes;
  EXPECT_EQ(binary_bytes("32KiB"), 32768);
  EXPECT_EQ(binary_bytes("8M"), 8388608);
  EXPECT_EQ(binary_bytes("1 GiB"), 1073741824);
  EXPECT_EQ(binary_bytes("17"), 17);
  EXPECT_FALSE(binary_bytes("8X"));
  EXPECT_FALSE(binary_bytes("-1K"));
  const auto rate = importing::quantity("482.26GBps");
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->value, 482.26);
  EXPECT_EQ(rate->unit, "GBps");
}

TEST(import_json, stands_within_text) {
  importing::JsonCollector collector;
  using State = importing::JsonCollector::State;
  EXPECT_EQ(collector.line("text {"), State::none);
  EXPECT_EQ(collector.line("[0] NCCL INFO"), State::none);
  EXPECT_EQ(collector.line("{"), State::inside);
  EXPECT_EQ(collector.line("  \"a\": \"}{\\\"\","), State::inside);
  EXPECT_EQ(collector.line("  \"b\": [1, 2]"), State::inside);
  EXPECT_EQ(collector.line("} behind"), State::complete);
  EXPECT_EQ(json::parse(collector.take()), (json{{"a", "}{\""}, {"b", {1, 2}}}));
  EXPECT_EQ(collector.line("{\"one\": \"line\"}"), State::complete);
}

TEST(import_json, too_much_is_no_document) {
  importing::JsonCollector collector;
  const std::string line = "\"" + std::string(1 << 20, 'x') + "\",";
  EXPECT_EQ(collector.line("["), importing::JsonCollector::State::inside);
  auto state = importing::JsonCollector::State::inside;
  for (int i = 0; i < 64 && state == importing::JsonCollector::State::inside; ++i) state = collector.line(line);
  EXPECT_EQ(state, importing::JsonCollector::State::too_large);
  EXPECT_FALSE(collector.inside());
}

TEST(import_files, nothing_recognised_names_what_could_be) {
  try {
    imported("hello\nworld\n");
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("was recognised"), testing::HasSubstr("nccl-tests")));
  }
}

TEST(import_files, an_unknown_tool_names_the_nearest) {
  try {
    imported("x", {.tool = "nccl-test", .said = {}, .command = {}});
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("nearest: \"nccl-tests\""));
  }
}

}  // namespace
}  // namespace claimcheck

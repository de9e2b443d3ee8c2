// RFC 4180, row by row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/catalog/csv.h"

namespace claimcheck {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<std::string>> cells(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  for (const CsvRow& row : read_csv(text)) rows.push_back(row.cells);
  return rows;
}

TEST(Csv, PlainRowsWithEitherLineEnd) {
  EXPECT_THAT(cells("a,b\n1,2\r\n"), ElementsAre(ElementsAre("a", "b"), ElementsAre("1", "2")));
  EXPECT_THAT(cells("a,b"), ElementsAre(ElementsAre("a", "b")));
}

TEST(Csv, EmptyCellsStayAndBlankLinesGo) {
  EXPECT_THAT(cells("a,,b\n\n,\n"), ElementsAre(ElementsAre("a", "", "b"), ElementsAre("", "")));
  EXPECT_THAT(cells("a,"), ElementsAre(ElementsAre("a", "")));
  EXPECT_THAT(cells(""), ElementsAre());
}

TEST(Csv, QuotedCellsHoldCommasQuotesAndLineBreaks) {
  EXPECT_THAT(cells("\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\"\"\nnext"),
              ElementsAre(ElementsAre("a,b", "say \"x\"", "two\nlines", ""), ElementsAre("next")));
}

TEST(Csv, RowsKnowTheLineTheyBeginOn) {
  const std::vector<CsvRow> rows = read_csv("h\n\"1\n2\"\n\nlast\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].line, 2u);
  EXPECT_EQ(rows[2].line, 5u);
}

TEST(Csv, ErrorsHaveTheLine) {
  try {
    read_csv("a\nb,\"open\nand on");
    FAIL() << "an open quote was accepted";
  } catch (const CsvError& error) {
    EXPECT_EQ(error.line(), 2u);
  }
  try {
    read_csv("a\n\"x\"y,b");
    FAIL() << "text after a closing quote was accepted";
  } catch (const CsvError& error) {
    EXPECT_EQ(error.line(), 2u);
  }
}

}  // namespace
}  // namespace claimcheck

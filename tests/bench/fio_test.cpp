// What fio prints, as recorded from fio 3.33 and cut to the fields read; and what it prints when things go wrong.
#include "bench/fio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/device.h"

namespace claimcheck::bench {
namespace {

using testing::HasSubstr;

const std::string healthy = R"({
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "claimcheck",
      "error" : 0,
      "read" : {
        "io_bytes" : 43253760, "total_ios" : 10560, "iops" : 69933.774834, "runtime" : 151,
        "lat_ns" : { "min" : 90000, "mean" : 453257.900284 }
      },
      "write" : {
        "io_bytes" : 0, "total_ios" : 0, "iops" : 0.0, "runtime" : 0, "lat_ns" : { "mean" : 0.0 }
      }
    }
  ]
}
)";

std::string failure(const std::string& output) {
  try {
    parse_fio(output, "read");
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, kernels::Outcome::failed);
    return error.what();
  }
  return "";
}

TEST(ParseFio, ReadsTheFirstJob) {
  const FioResult result = parse_fio(healthy, "read");
  EXPECT_EQ(result.version, "fio-3.33");
  EXPECT_DOUBLE_EQ(result.iops, 69933.774834);
  EXPECT_DOUBLE_EQ(result.latency_us, 453.257900284);
  EXPECT_DOUBLE_EQ(result.seconds, 0.151);
  EXPECT_EQ(result.operations, 10560);
  EXPECT_EQ(result.bytes, 43253760);
  EXPECT_EQ(parse_fio(healthy, "write").iops, 0);
}

TEST(ParseFio, PassesOverMessagesBeforeTheDocument) {
  const std::string messages = "fio: native_fallocate call failed: Operation not supported\nnote: {odd}\n";
  EXPECT_EQ(parse_fio(messages + healthy, "read").operations, 10560);
}

std::string with_error(int number) {
  std::string document = healthy;
  const std::string none = "\"error\" : 0";
  return document.replace(document.find(none), none.size(), "\"error\" : " + std::to_string(number));
}

TEST(ParseFio, SaysWhatFioSaidWhenAJobFailed) {
  const std::string said = failure("fio: io_u error on file x: No space left on device\n" + with_error(28));
  EXPECT_EQ(said, "fio failed with error 28: fio: io_u error on file x: No space left on device");
}

TEST(ParseFio, AChecksumThatDoesNotFitIsAWrongResult) {
  try {
    parse_fio("crc32c: verify failed at file x offset 4096, length 4096\n" + with_error(84), "read");
    FAIL() << "nothing was thrown";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, kernels::Outcome::wrong_result);
    EXPECT_THAT(error.what(), HasSubstr("verify failed at file x offset 4096"));
  }
}

TEST(ParseFio, OldOrForeignOutputIsOneSentence) {
  EXPECT_THAT(failure(""), HasSubstr("no JSON document"));
  EXPECT_THAT(failure("fio: unrecognized option '--output-format=json'\n"), HasSubstr("unrecognized option"));
  EXPECT_THAT(
      failure("{\n  \"fio version\" : \"fio-2.1\", \"jobs\" : [ { \"error\" : 0, \"read\" : { \"iops\" : 5 } } ]\n}\n"),
      HasSubstr("no number at /jobs/0/read/lat_ns/mean; install fio 3"));
  EXPECT_THAT(failure("{\n \"jobs\" : [] }\n"), HasSubstr("/jobs/0/error"));
}

TEST(ParseFio, TruncatedAnywhereIsAFailureNeverACrash) {
  for (std::size_t length = 0; length + 2 < healthy.size(); ++length)
    EXPECT_THROW(parse_fio(healthy.substr(0, length), "read"), kernels::Error) << length;
}

TEST(FioEngine, KeepsThirtyTwoRequestsInFlight) {
  const auto check = [](const FioEngine& engine, const std::string& name, int jobs, int depth) {
    EXPECT_EQ(engine.name, name);
    EXPECT_EQ(engine.jobs, jobs);
    EXPECT_EQ(engine.depth, depth);
  };
  check(fio_engine("Available IO engines:\n\tpsync\n\tlibaio\n", 32, 1), "libaio", 1, 32);
  check(fio_engine("Available IO engines:\n\tpsync\n\tlibaio\n", 32, 3), "libaio", 2, 16);
  check(fio_engine("Available IO engines:\n\tpsync\n\tlibaio\n", 32, 64), "libaio", 4, 8);
  check(fio_engine("Available IO engines:\n\tpsync\n\tposixaio\n", 32, 64), "psync", 32, 1);
}

}  // namespace
}  // namespace claimcheck::bench

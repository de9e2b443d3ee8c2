// --claim: what is understood, what is converted, and every sentence of refusal.
#include "harness/judge/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/error.h"
#include "harness/judge/unit.h"

namespace claimcheck {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_claim(text);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

TEST(ParseClaim, MetricOperatorValueUnit) {
  const Claim claim = parse_claim("memory.triad.gbps>=2900 GB/s", 3);
  EXPECT_EQ(claim.id, "user:3");
  EXPECT_EQ(claim.metric, "memory.triad.gbps");
  EXPECT_EQ(claim.comparison, ">=");
  EXPECT_EQ(claim.value, 2900);
  EXPECT_EQ(claim.unit, "GB/s");
  EXPECT_EQ(claim.definition["given"], "2900 GB/s");
  EXPECT_EQ(claim.definition["comparison"], "claim");
  EXPECT_FALSE(claim.definition.contains("note"));
  EXPECT_EQ(claim.source["text"], "memory.triad.gbps>=2900 GB/s");
}

TEST(ParseClaim, SpacesAndUnitAreFree) {
  EXPECT_EQ(parse_claim("  memory.triad.gbps   >=   2900  ").value, 2900);
  EXPECT_EQ(parse_claim("memory.triad.gbps>=2.9e3GB/s").value, 2900);
}

TEST(ParseClaim, Operators) {
  EXPECT_EQ(parse_claim("allreduce.latency.us<=20").comparison, "<=");
  EXPECT_EQ(parse_claim("scaling.gemm.efficiency==1").comparison, "==");
  const Claim greater = parse_claim("memory.triad.gbps>10");
  EXPECT_EQ(greater.comparison, ">=");
  EXPECT_EQ(greater.definition["strictly"], true);
  const Claim less = parse_claim("allreduce.latency.us<20");
  EXPECT_EQ(less.comparison, "<=");
  EXPECT_EQ(less.definition["strictly"], true);
}

TEST(ParseClaim, ConvertsWithinADimension) {
  const struct {
    const char* text;
    double value;
  } rows[] = {{"memory.triad.gbps>=3.35 TB/s", 3350},   {"memory.triad.gbps>=1 GiB/s", 1.073741824},
              {"memory.triad.gbps>=100 Gb/s", 12.5},    {"memory.triad.gbps>=3.2 Tb/s", 400},
              {"memory.triad.gbps>=500 MB/s", 0.5},     {"memory.triad.gbps>=8 Gbps", 1},
              {"gemm.bf16.tflops>=0.7 PFLOPS", 700},    {"gemm.fp32.tflops>=500 GFLOPS", 0.5},
              {"gemm.fp32.tflops>=1 tflops", 1},        {"gemm.int8.tops>=1 POPS", 1000},
              {"allreduce.latency.us<=0.02 ms", 20},    {"allreduce.latency.us<=1 s", 1e6},
              {"allreduce.latency.us<=5 \xC2\xB5s", 5}, {"scaling.gemm.efficiency>=90 %", 0.9},
              {"scaling.gemm.efficiency>=90%", 0.9},    {"storage.random_read.iops>=200 kIOPS", 200000}};
  for (const auto& row : rows) {
    const Claim claim = parse_claim(row.text);
    EXPECT_NEAR(claim.value.get<double>(), row.value, row.value * 1e-12) << row.text;
  }
  EXPECT_EQ(parse_claim("memory.triad.gbps>=3.35 TB/s").definition["note"], "3.35 TB/s = 3350 GB/s");
  EXPECT_EQ(parse_claim("gemm.bf16.tflops>=0.7 PFLOPS").definition["note"], "0.7 PFLOPS = 700 TFLOPS");
}

TEST(ParseClaim, Conditions) {
  const Claim claim = parse_claim("gemm.fp32.tflops[n=4096, layout = TN]>=1");
  EXPECT_EQ(claim.definition["conditions"]["n"], 4096);
  EXPECT_EQ(claim.definition["conditions"]["layout"], "TN");
  const Claim sparse = parse_claim("gemm.bf16.tflops[sparse=yes]>=1979");
  EXPECT_EQ(sparse.definition["sparse"], true);
  EXPECT_FALSE(sparse.definition.contains("conditions"));
  EXPECT_EQ(parse_claim("gemm.bf16.tflops[per=node]>=5600").definition["per"], "node");
}

TEST(ParseClaim, SizesInConditions) {
  EXPECT_EQ(parse_claim("allreduce.busbw.gbps[bytes=4MiB]>=1").definition["conditions"]["bytes"], 4194304);
  EXPECT_EQ(parse_claim("allreduce.busbw.gbps[bytes=1 GiB,ranks=8]>=1").definition["conditions"]["bytes"], 1073741824);
  EXPECT_EQ(parse_claim("allreduce.busbw.gbps[bytes=8GB]>=1").definition["conditions"]["bytes"], 8e9);
  EXPECT_EQ(parse_claim("storage.read.gbps[block_bytes=128kB]>=1").definition["conditions"]["block_bytes"], 128000);
  EXPECT_EQ(parse_claim("gemm.bf16.tflops[shape=8192x8192x8192]>=1").definition["conditions"]["shape"],
            "8192x8192x8192");
  EXPECT_THAT(refusal("allreduce.busbw.gbps[bytes=4M]>=1"),
              AllOf(HasSubstr("position 28:"), HasSubstr("such as bytes=4194304 or bytes=4MiB, found '4M'")))
      << "10^6 to some, 2^20 to others";
  EXPECT_THAT(refusal("allreduce.busbw.gbps[bytes=large]>=1"), HasSubstr("or bytes=4MiB, found 'large'"));
  EXPECT_THAT(refusal("gemm.bf16.tflops[n=4k]>=1"), HasSubstr("expected a plain number, such as n=8, found '4k'"));
}

TEST(ParseClaim, Directions) {
  EXPECT_EQ(parse_claim("p2p.read.gbps[direction=both]>=900").definition["direction"], "both");
  EXPECT_THAT(refusal("p2p.read.gbps[direction=up]>=900"), HasSubstr("direction=both or direction=one, found 'up'"));
}

TEST(ParseClaim, SizesOfTheMachine) {
  const Claim disk = parse_claim("identity.local_nvme_gb>=30.4 TB");
  EXPECT_NEAR(disk.value.get<double>(), 30400, 1e-9);
  EXPECT_EQ(disk.unit, "GB");
  EXPECT_EQ(disk.definition["note"], "30.4 TB = 30400 GB");
  EXPECT_EQ(parse_claim("identity.ram_gib>=2 TiB").value, 2048);
  EXPECT_NEAR(parse_claim("identity.accelerator_memory_gb>=80 GiB").value.get<double>(), 85.899345920, 1e-9);
  EXPECT_EQ(parse_claim("identity.network_gbps>=3.2 Tb/s").value, 3200);
  EXPECT_EQ(parse_claim("identity.network_gbps>=400 GB/s").value, 3200);
  EXPECT_EQ(parse_claim("identity.interconnect_gbps>=900").definition["direction"], "both");
  EXPECT_THAT(refusal("identity.ram_gib>=2048 GB/s"),
              HasSubstr("GB/s does not measure identity.ram_gib, which is in GiB"));
  EXPECT_THAT(refusal("identity.vcpus==192 cores"), HasSubstr("expected the end after the number"));
}

TEST(ParseClaim, ReadsBackAsText) {
  EXPECT_EQ(to_text(parse_claim("memory.triad.gbps>=2900")), "memory.triad.gbps >= 2900 GB/s");
  EXPECT_EQ(to_text(parse_claim("memory.triad.gbps>2900")), "memory.triad.gbps > 2900 GB/s");
  EXPECT_EQ(to_text(parse_claim("gemm.fp32.tflops[n=4096]>=1.5")), "gemm.fp32.tflops[n=4096] >= 1.5 TFLOPS");
  EXPECT_EQ(to_text(parse_claim("scaling.gemm.efficiency>=0.9")), "scaling.gemm.efficiency >= 90 %");
}

TEST(ParseClaim, NumbersThemFromOne) {
  const auto claims = parse_claims({"memory.copy.gbps>=1", "memory.read.gbps>=1"});
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].id, "user:1");
  EXPECT_EQ(claims[1].id, "user:2");
}

TEST(ParseClaim, UnknownMetricNamesTheNearest) {
  EXPECT_THAT(refusal("memory.triat.gbps>=1"),
              AllOf(HasSubstr("position 1"), HasSubstr("no metric is called 'memory.triat.gbps'"),
                    HasSubstr("\"memory.triad.gbps\"")));
  EXPECT_THAT(refusal("gemm.bf61.tflops>=1"), HasSubstr("\"gemm.bf16.tflops\""));
}

TEST(ParseClaim, MalformedNamesThePositionAndWhatWasExpected) {
  const struct {
    const char* text;
    const char* position;
    const char* expected;
  } rows[] = {
      {"", "position 1:", "expected a metric"},
      {">=5", "position 1:", "expected a metric, as in 'memory.triad.gbps>=2900 GB/s', found '>=5'"},
      {"memory.triad.gbps",
       "position 18:", "expected an operator (>=, <=, >, < or ==), found the end (quote the claim"},
      {"memory.triad.gbps 5", "position 19:", "expected an operator (>=, <=, >, < or ==), found '5'"},
      {"memory.triad.gbps=5", "position 18:", "expected an operator (>=, <=, >, < or ==), found '=5'"},
      {"memory.triad.gbps>=", "position 20:", "expected a finite number, found the end"},
      {"memory.triad.gbps>=fast", "position 20:", "expected a finite number, found 'fast'"},
      {"memory.triad.gbps>=nan", "position 20:", "expected a finite number, found 'nan'"},
      {"memory.triad.gbps>=inf", "position 20:", "expected a finite number, found 'inf'"},
      {"memory.triad.gbps>=1e999", "position 20:", "expected a finite number"},
      {"memory.triad.gbps>=-1", "position 20:", "expected a number that is not negative, found '-1'"},
      {"memory.triad.gbps>=5 parsecs", "position 22:", "'parsecs' is not a unit known here"},
      {"memory.triad.gbps>=5 gbps", "position 22:", "'gbps' is not a unit known here, or can mean two"},
      {"memory.triad.gbps>=5 TFLOPS", "position 22:", "TFLOPS does not measure memory.triad.gbps, which is in GB/s"},
      {"gemm.fp32.tflops>=5 TOPS", "position 21:", "TOPS does not measure gemm.fp32.tflops, which is in TFLOPS"},
      {"gemm.fp32.tflops[n=]>=5", "position 20:", "expected a value for the condition 'n', found ']>=5'"},
      {"gemm.fp32.tflops[n]>=5", "position 19:", "expected '=' after the condition 'n', found ']>=5'"},
      {"gemm.fp32.tflops[]>=5", "position 18:", "expected a condition such as n=4096, found ']>=5'"},
      {"gemm.fp32.tflops[n=1>=5", "position 24:", "expected ',' or ']' after the condition 'n', found the end"},
      {"gemm.fp32.tflops[sparse=maybe]>=5", "position 25:", "expected sparse=yes or sparse=no, found 'maybe'"},
      {"gemm.fp32.tflops[per=rack]>=5", "position 22:", "expected per=device or per=node, found 'rack'"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(refusal(row.text), AllOf(HasSubstr(row.position), HasSubstr(row.expected))) << row.text;
  }
}

TEST(ParseClaim, AnotherDimensionNamesTheChoices) {
  EXPECT_THAT(refusal("memory.triad.gbps>=5 TFLOPS"), HasSubstr("GB/s, B/s, kB/s, MB/s, TB/s, KiB/s"));
}

TEST(Units, ConvertBackAndForth) {
  for (const char* from : {"GB/s", "GiB/s", "Gb/s", "TFLOPS", "TOPS", "us", "1", "IOPS"}) {
    for (const std::string_view to : units_like(from)) {
      const double there = convert(123.5, from, to).value();
      EXPECT_NEAR(convert(there, to, from).value(), 123.5, 1e-9) << from << " " << to;
    }
  }
  EXPECT_FALSE(convert(1, "GB/s", "TFLOPS"));
  EXPECT_FALSE(convert(1, "GB/s", "nonsense"));
}

TEST(Units, BitsAndBytesAreNeverConfused) {
  EXPECT_EQ(find_unit("GB/s"), "GB/s");
  EXPECT_EQ(find_unit("Gb/s"), "Gb/s");
  EXPECT_EQ(find_unit("gb/s"), "");
  EXPECT_EQ(find_unit("gbps"), "");
  EXPECT_EQ(find_unit("gib/s"), "GiB/s");
  EXPECT_EQ(find_unit("Tflops"), "TFLOPS");
}

}  // namespace
}  // namespace claimcheck

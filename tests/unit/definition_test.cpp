// Claims in other definitions than the metric's, recognised on a p5 (8 x H100: 989.5 TFLOPS dense bf16, 3350 GB/s,
// NVLink 900 GB/s both directions, PCIe 5.0 x16, 3200 Gb/s by 32 adapters).
#include "harness/judge/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/claim.h"
#include "tests/unit/made_results.h"

namespace claimcheck {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string said(const std::string& text, std::size_t devices = 8) {
  static const Catalog catalog = load_catalog();
  Measurement measurement;
  measurement.devices.resize(devices);
  const auto found = definition_mismatch(parse_claim(text), measurement, catalog.find_accelerator("nvidia-h100-sxm-80"),
                                         catalog.find_platform("aws:p5.48xlarge"));
  EXPECT_LE(found.size(), 1u);
  return found.empty() ? "" : found.front();
}

TEST(Definition, Sparse) {
  EXPECT_THAT(said("gemm.bf16.tflops>=1979"), AllOf(HasSubstr("sparse figure"), HasSubstr("[sparse=yes]>=1979")));
  EXPECT_EQ(said("gemm.bf16.tflops[sparse=yes]>=1979"), "");
  EXPECT_EQ(said("gemm.bf16.tflops>=989"), "");
}

TEST(Definition, OfANode) {
  EXPECT_THAT(said("gemm.bf16.tflops>=7.916 PFLOPS"), AllOf(HasSubstr("8 devices together"), HasSubstr("[per=node]")));
  EXPECT_THAT(said("gemm.bf16.tflops>=15.83 PFLOPS"), HasSubstr("[per=node,sparse=yes]"));
  EXPECT_THAT(said("memory.read.gbps>=26.8 TB/s"), HasSubstr("8 devices together"));
  EXPECT_EQ(said("gemm.bf16.tflops[per=node]>=7.916 PFLOPS"), "");
  // One device measured: the platform says how many there are.
  EXPECT_THAT(said("gemm.bf16.tflops>=7.916 PFLOPS", 1), HasSubstr("8 devices together"));
}

TEST(Definition, BothDirections) {
  EXPECT_THAT(said("p2p.read.gbps>=900"), AllOf(HasSubstr("both directions"), HasSubstr("450 GB/s")));
  EXPECT_THAT(said("allreduce.busbw.gbps>=900"), HasSubstr("both directions"));
  EXPECT_THAT(said("host_link.h2d.gbps>=128"), AllOf(HasSubstr("PCIe"), HasSubstr("63 GB/s")));
  EXPECT_EQ(said("p2p.read.gbps>=450"), "");
  EXPECT_EQ(said("p2p.bidirectional.gbps>=900"), "");
}

TEST(Definition, LinksOfANode) {
  EXPECT_THAT(said("p2p.read.gbps>=3600"),
              AllOf(HasSubstr("8 devices carry together;"), HasSubstr("'p2p.read.gbps>=450'")));
  EXPECT_THAT(said("p2p.read.gbps>=7.2 TB/s"), HasSubstr("8 devices carry together, both directions;"));
  EXPECT_THAT(said("host_link.d2h.gbps>=504"), AllOf(HasSubstr("PCIe of 8 devices"), HasSubstr(">=63'")));
  EXPECT_EQ(said("host_link.d2h.gbps[per=node]>=504"), "");
  EXPECT_EQ(said("p2p.read.gbps[direction=both]>=900"), "") << "it says so itself";
}

TEST(Definition, CountedTwice) {
  EXPECT_EQ(counted_times(parse_claim("gemm.bf16.tflops[sparse=yes]>=1979")), 2);
  EXPECT_EQ(counted_times(parse_claim("p2p.read.gbps[direction=both]>=900")), 2);
  EXPECT_EQ(counted_times(parse_claim("p2p.bidirectional.gbps[direction=both]>=900")), 1) << "the metric's own";
  EXPECT_EQ(counted_times(parse_claim("p2p.read.gbps>=450")), 1);
}

TEST(Definition, BinaryUnits) {
  EXPECT_THAT(said("memory.read.gbps>=3350 GiB/s"), AllOf(HasSubstr("binary unit"), HasSubstr("7.4 %")));
  EXPECT_EQ(said("memory.read.gbps>=3350 GB/s"), "");
  EXPECT_EQ(said("memory.read.gbps>=3000 GiB/s"), "");
}

TEST(Definition, BitsAndAdapters) {
  EXPECT_THAT(said("network.efa.gbps>=3200 GB/s"), AllOf(HasSubstr("bits, not bytes"), HasSubstr("400 GB/s")));
  EXPECT_THAT(said("allreduce.busbw.gbps>=3200 GB/s"), HasSubstr("bits, not bytes"));
  EXPECT_THAT(said("network.efa.gbps>=3200 Gb/s"), AllOf(HasSubstr("32 adapters"), HasSubstr("12.5")));
  EXPECT_EQ(said("network.efa.gbps>=100 Gb/s"), "");
}

TEST(Definition, WithoutAKnownMachineNothingIsSaid) {
  Measurement measurement;
  EXPECT_TRUE(definition_mismatch(parse_claim("gemm.bf16.tflops>=1979"), measurement, nullptr, nullptr).empty());
}

}  // namespace
}  // namespace claimcheck

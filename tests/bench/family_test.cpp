// Every benchmark of GPUs on fake ones with known rates: the figure comes out, data that is wrong is seen, and what
// cannot run says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/chain.h"
#include "bench/worker/registry.h"
#include "bench/worker/samples.h"
#include "fake_gpu.h"

namespace claimcheck::bench {
namespace {

using test::FakeOptions;
using test::FakePlatform;
using testing::HasSubstr;

const Benchmark& benchmark_named(const std::string& id) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const Benchmark& one) { return one.id == id; });
  if (found == all().end()) throw std::invalid_argument("no benchmark " + id);
  return *found;
}

// One case made ready on one platform.
struct Ready {
  explicit Ready(kernels::Platform& used, const std::string& id, const std::string& label = "") : platform(used) {
    options.min_time_seconds = 0.01;
    options.max_bytes = std::size_t{8} << 20;
    benchmark = &benchmark_named(id);
    const std::vector<Case> cases = benchmark->cases(platform, options);
    const auto found = std::find_if(cases.begin(), cases.end(), [&](const Case& one) { return one.label == label; });
    if (found == cases.end()) throw std::invalid_argument("no case " + label);
    chosen = *found;
    Setting setting{platform, world, options, chosen, group};
    prepared = benchmark->prepare(setting);
  }

  double value() {
    Call call;
    last = prepared.run();
    call.add(last);
    return samples(*benchmark, prepared.work, std::span(&call, 1))[0];
  }
  double also(const std::string& metric) const {
    const auto found =
        std::find_if(last.also.begin(), last.also.end(), [&](const auto& one) { return one.first == metric; });
    return found == last.also.end() ? -1 : found->second;
  }

  kernels::Platform& platform;
  kernels::World world;
  Options options;
  const Benchmark* benchmark = nullptr;
  Case chosen;
  std::shared_ptr<kernels::Group> group;
  Prepared prepared;
  Iteration last;
};

struct Row {
  std::string id;
  std::string label;
  double value = 0;  // by hand, from FakeRates
  std::string operation;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.id << '/' << row.label; }

class Family : public testing::TestWithParam<Row> {};

TEST_P(Family, RecoversTheRateAndSeesAFlippedBit) {
  FakePlatform platform(FakeOptions{});
  Ready ready(platform, GetParam().id, GetParam().label);
  EXPECT_NEAR(ready.value(), GetParam().value, 0.01 * GetParam().value);
  EXPECT_NO_THROW(ready.prepared.verify());
  EXPECT_FALSE(ready.prepared.conditions.empty());
  EXPECT_EQ(ready.prepared.devices.size(), 2U);
  EXPECT_GE(ready.last.whole_seconds(), ready.last.seconds);
  ready.value();
  ready.prepared.spoil();
  EXPECT_THROW(ready.prepared.verify(), kernels::Error);
}

TEST_P(Family, SeesAnOperationThatStopsWriting) {
  if (GetParam().operation.empty()) GTEST_SKIP() << "leaves nothing of its own";
  FakePlatform platform(FakeOptions{});
  Ready ready(platform, GetParam().id, GetParam().label);
  ready.value();
  ready.prepared.verify();
  platform.break_operation(GetParam().operation);
  ready.value();
  try {
    ready.prepared.verify();
    FAIL() << "nothing was thrown";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.detail().outcome, kernels::Outcome::wrong_result);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Family,
    testing::Values(Row{"memory.l2.latency", "", 200, "chase"}, Row{"memory.hbm.latency", "", 600, "chase"},
                    Row{"vector.fp64", "", 1e-3, "vector"}, Row{"vector.fp32", "", 1e-3, "vector"},
                    Row{"vector.fp16", "", 1e-3, "vector"}, Row{"vector.bf16", "", 1e-3, "vector"},
                    Row{"vector.int32", "", 1e-3, "vector"}, Row{"vector.dp4a", "", 1e-3, "vector"},
                    Row{"tensor.fp64", "", 4e-3, "tensor"}, Row{"tensor.tf32", "", 4e-3, "tensor"},
                    Row{"tensor.fp16", "", 4e-3, "tensor"}, Row{"tensor.bf16", "", 4e-3, "tensor"},
                    Row{"tensor.fp8_e4m3", "", 4e-3, "tensor"}, Row{"tensor.fp8_e5m2", "", 4e-3, "tensor"},
                    Row{"tensor.int8", "", 4e-3, "tensor"}, Row{"host_link.h2d", "all", 20, "copy"},
                    Row{"host_link.h2d", "each", 20, "copy"}, Row{"host_link.h2d", "all/kernel", 20, "copy"},
                    Row{"host_link.d2h", "all", 20, "copy"}, Row{"host_link.d2h", "each/kernel", 20, "copy"},
                    Row{"host_link.bidirectional", "all", 40, "copy"},
                    Row{"host_link.bidirectional", "each", 40, "copy"}, Row{"p2p.read", "", 100, "copy"},
                    Row{"p2p.write", "", 100, "copy"}, Row{"p2p.bidirectional", "", 200, "copy"},
                    Row{"p2p.latency", "", 0.01512, "copy"}, Row{"p2p.load.latency", "", 900, "chase"},
                    Row{"launch.latency", "", 2.5, "copy"}),
    [](const auto& row) {
      std::string name = row.param.id + "_" + row.param.label;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

// ---------------------------------------------------------------------------------------------- several devices

TEST(HostLink, SlowestDeviceSpeaksAndTheSumIsBeside) {
  FakePlatform platform(FakeOptions{.devices = 3, .slow_device = 1});
  Ready ready(platform, "host_link.h2d", "all");
  EXPECT_NEAR(ready.value(), 10, 0.1);
  EXPECT_NEAR(ready.also("host_link.h2d.sum.gbps"), 50, 0.5);
  EXPECT_EQ(ready.prepared.conditions["devices_at_once"], "all");
  EXPECT_EQ(ready.prepared.conditions["engine"], "ce");
  EXPECT_EQ(ready.prepared.also_conditions["host_link.h2d.sum.gbps"]["statistic"], "sum over GPUs at once");
  Ready alone(platform, "host_link.h2d", "each/kernel");
  EXPECT_NEAR(alone.value(), 10, 0.1);
  EXPECT_EQ(alone.prepared.conditions["devices_at_once"], 1);
  EXPECT_EQ(alone.prepared.conditions["engine"], "sm");
  // One after the other: 1 + 2 + 1 times as long as one fast device.
  EXPECT_NEAR(alone.last.busy_seconds / alone.last.device_seconds[0], 4, 0.01);
}

TEST(PeerToPeer, MatrixHasEveryPairAndNullOnTheDiagonal) {
  FakePlatform platform(FakeOptions{.devices = 3, .slow_device = 2});
  Ready ready(platform, "p2p.read");
  EXPECT_NEAR(ready.value(), 50, 0.5);
  // 4 pairs are read by a fast device, 2 by the slow one.
  EXPECT_NEAR(ready.also("p2p.read.sum.gbps"), 500, 5);
  const nlohmann::json evidence = ready.prepared.evidence();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const nlohmann::json& found = evidence["matrix_gbps"][i][j];
      if (i == j) {
        EXPECT_TRUE(found.is_null());
        EXPECT_TRUE(evidence["access"][i][j].is_null());
      } else {
        EXPECT_NEAR(found.get<double>(), i == 2 ? 50 : 100, 1) << i << ' ' << j;
        EXPECT_EQ(evidence["access"][i][j], "direct");
      }
    }
  EXPECT_EQ(ready.prepared.conditions["access"], "direct");
  EXPECT_EQ(ready.prepared.conditions["link"], "nvlink");
}

TEST(PeerToPeer, BothDirectionsAreSummedAndThePairStandsTwiceInTheMatrix) {
  FakePlatform platform(FakeOptions{.devices = 3});
  Ready ready(platform, "p2p.bidirectional");
  EXPECT_NEAR(ready.value(), 200, 2);
  EXPECT_NEAR(ready.also("p2p.bidirectional_read.sum.gbps"), 6 * 200, 12);
  const nlohmann::json matrix = ready.prepared.evidence()["matrix_gbps"];
  EXPECT_EQ(matrix[0][2], matrix[2][0]);
  EXPECT_NEAR(matrix[1][2].get<double>(), 200, 2);
}

TEST(PeerToPeer, WithoutAccessCopiesGoThroughTheHostAndLoadsCannot) {
  FakePlatform platform(FakeOptions{.direct = false});
  Ready ready(platform, "p2p.write");
  EXPECT_NEAR(ready.value(), 8, 0.1);
  EXPECT_EQ(ready.prepared.conditions["access"], "through_host");
  EXPECT_EQ(ready.prepared.evidence()["access"][0][1], "through_host");
  EXPECT_THROW(Ready(platform, "p2p.load.latency"), kernels::Error);
}

// ---------------------------------------------------------------------------------------------- what cannot run

std::string reason_of(kernels::Platform& platform, const std::string& id) {
  const Options options;
  for (const ListedCase& listed : list_cases(platform, options))
    if (listed.benchmark->id == id)
      return listed.failure && listed.failure->outcome == kernels::Outcome::unsupported ? listed.failure->reason : "";
  return "not listed";
}

TEST(Unsupported, EachFamilySaysWhy) {
  FakePlatform single(FakeOptions{.devices = 1, .has_units = false});
  EXPECT_EQ(reason_of(single, "p2p.read"), "there is one device only, no other to copy to");
  EXPECT_EQ(reason_of(single, "p2p.load.latency"), "there is one device only, no other to copy to");
  EXPECT_EQ(reason_of(single, "vector.fp32"), "this fake has no vector units");
  EXPECT_EQ(reason_of(single, "tensor.bf16"), "this fake has no matrix units");
}

TEST(Unsupported, TheCpuHasNoneOfTheseUnits) {
  const auto host = kernels::open_platform({.threads = 1});
  EXPECT_EQ(reason_of(*host, "memory.l2.latency"), "latency of single loads is measured on GPUs only");
  EXPECT_EQ(reason_of(*host, "vector.fp64"), "the rate of the vector units is measured on GPUs only");
  EXPECT_THAT(reason_of(*host, "tensor.bf16"), HasSubstr("no matrix units"));
  EXPECT_THAT(reason_of(*host, "host_link.h2d"), HasSubstr("there is no link"));
  EXPECT_THAT(reason_of(*host, "host_link.pinned_allocation"), HasSubstr("pinned"));
  EXPECT_EQ(reason_of(*host, "p2p.bidirectional"), "the CPU is one device: there is no other to copy to");
  EXPECT_EQ(reason_of(*host, "launch.latency"), "kernels are launched on GPUs only");
}

TEST(PinnedAllocation, IsCheckedByACopyIntoIt) {
  FakePlatform platform(FakeOptions{});
  Ready ready(platform, "host_link.pinned_allocation");
  EXPECT_GT(ready.value(), 0);
  EXPECT_NO_THROW(ready.prepared.verify());
  ready.prepared.spoil();
  EXPECT_THROW(ready.prepared.verify(), kernels::Error);
}

// ---------------------------------------------------------------------------------------------- chains

TEST(Chains, EachCycleIsWalkedWholeAndNoLineBelongsToTwo) {
  const Chains chains(std::size_t{3} * 4096 * 128 + 1000, 7);
  ASSERT_EQ(chains.count(), 3U);
  EXPECT_EQ(chains.loads(), 4095);
  std::vector<bool> seen(chains.size_bytes() / 128, false);
  for (std::size_t chain = 0; chain < chains.count(); ++chain) {
    const std::span<const std::uint64_t> list = chains.list().subspan(chains.offset_bytes(chain) / 8);
    std::uint64_t at = 0;
    for (std::int64_t i = 0; i < chains.loads(); ++i) {
      const std::size_t line = (chains.offset_bytes(chain) + at * 8) / 128;
      EXPECT_FALSE(seen[line]) << "line " << line;
      seen[line] = true;
      at = list[at];
    }
    EXPECT_EQ(at, chains.end(chain));
    EXPECT_NE(at, 0U);
    EXPECT_EQ(at % 16, 0U) << "a line of its own";
    EXPECT_EQ(list[at], 0U) << "closed";
    seen[(chains.offset_bytes(chain) + at * 8) / 128] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

}  // namespace
}  // namespace claimcheck::bench

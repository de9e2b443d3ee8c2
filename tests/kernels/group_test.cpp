// Collectives against plain sums and copies, for several rank counts, types and sizes, in and out of place.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kernels/host/group_reduce.h"
#include "tests/kernels/collectives.h"
#include "tests/kernels/support.h"

namespace claimcheck::kernels {
namespace {

using namespace test::collectives;  // NOLINT(google-build-using-namespace): written for this file

class GroupTest : public testing::TestWithParam<std::size_t> {};

TEST_P(GroupTest, CollectivesMatchTheirDefinitions) {
  Ranks ranks(GetParam());
  EXPECT_EQ(ranks.group->size(), static_cast<int>(GetParam()));
  EXPECT_EQ(ranks.group->first_rank(), 0);
  for (const Collective collective : all_collectives)
    for (const DataType type :
         {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::int32, DataType::int8})
      for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{2500}})
        for (const bool in_place : {false, true}) {
          if (in_place && !extents_of(collective, ranks.devices.size()).may_be_in_place) continue;
          SCOPED_TRACE(std::string(to_string(collective)) + " of " + std::to_string(count) + " " +
                       std::string(to_string(type)) + (in_place ? " in place" : ""));
          check(ranks, collective, type, count, in_place);
        }
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupTest, testing::Values(1, 2, 3, 5));

TEST(Group, SumsPastTheCachesAreTheSame) {
  const std::size_t count = 5003;
  for (const DataType type : {DataType::fp64, DataType::fp16, DataType::int8}) {
    std::vector<std::vector<std::byte>> buffers(3, std::vector<std::byte>(storage_bytes(type, count)));
    std::vector<double> values(count);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (std::size_t i = 0; i < count; ++i) values[i] = element(rank, i);
      encode(type, values, buffers[rank]);
    }
    const std::vector<const std::byte*> sources = {buffers[0].data(), buffers[1].data(), buffers[2].data()};
    const std::vector<std::byte*> targets = {buffers[0].data(), buffers[2].data()};
    host::sum_slices(type, sources, targets, count, true);
    for (std::size_t i = 0; i < count; ++i) values[i] = element(0, i) + element(1, i) + element(2, i);
    EXPECT_EQ(decode(type, buffers[0], count), values) << to_string(type);
    EXPECT_EQ(buffers[2], buffers[0]) << to_string(type);
  }
}

TEST(Group, IntegerSumsWrapAround) {
  const std::vector<std::int8_t> a = {100, -100, 127};
  const std::vector<std::int8_t> b = {100, -100, 1};
  std::vector<std::int8_t> sum(3);
  const std::vector<const std::byte*> sources = {reinterpret_cast<const std::byte*>(a.data()),
                                                 reinterpret_cast<const std::byte*>(b.data())};
  const std::vector<std::byte*> targets = {reinterpret_cast<std::byte*>(sum.data())};
  host::sum_slices(DataType::int8, sources, targets, 3, false);
  EXPECT_EQ(sum, (std::vector<std::int8_t>{-56, 56, -128}));
}

TEST(Group, AllRanksGetTheSameBitsAndTheExactSumWithinRounding) {
  Ranks ranks(3);
  const std::size_t count = 10007;
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16}) {
    SCOPED_TRACE(to_string(type));
    std::vector<std::unique_ptr<Buffer>> owned;
    std::vector<Group::Buffers> buffers;
    std::vector<long double> sums(count);
    std::vector<long double> magnitudes(count);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      owned.push_back(ranks.devices[rank]->allocate(storage_bytes(type, count)));
      ranks.devices[rank]->fill(*ranks.streams[rank], *owned.back(), type, Pattern::normal, 100 + rank);
      ranks.streams[rank]->wait(test::patience);
      const auto values = decode(type, test::downloaded<std::byte>(*ranks.devices[rank], *owned.back()), count);
      for (std::size_t i = 0; i < count; ++i) sums[i] += values[i], magnitudes[i] += std::fabs(values[i]);
      buffers.push_back({*owned.back(), *owned.back()});
    }
    ranks.group->enqueue(Collective::all_reduce, buffers, count, type, ranks.stream_pointers);
    ranks.group->wait(ranks.stream_pointers, test::patience);
    const auto first = test::downloaded<std::byte>(*ranks.devices[0], *owned[0]);
    for (std::size_t rank = 1; rank < 3; ++rank)
      EXPECT_EQ(test::downloaded<std::byte>(*ranks.devices[rank], *owned[rank]), first);
    const auto values = decode(type, first, count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_NEAR(values[i], static_cast<double>(sums[i]),
                  static_cast<double>(magnitudes[i]) * 2.01 * unit_roundoff(type))
          << i;
  }
}

TEST(Group, ManyCollectivesInARowKeepTheirOrder) {
  Ranks ranks(2);
  const auto a = test::uploaded(*ranks.devices[0], std::vector<double>(100, 1.0));
  const auto b = test::uploaded(*ranks.devices[1], std::vector<double>(100, 1.0));
  const std::vector<Group::Buffers> buffers = {{*a, *a}, {*b, *b}};
  for (int i = 0; i < 50; ++i)
    ranks.group->enqueue(Collective::all_reduce, buffers, 100, DataType::fp64, ranks.stream_pointers);
  ranks.group->wait(ranks.stream_pointers, test::patience);
  EXPECT_EQ(test::downloaded<double>(*ranks.devices[1], *b), std::vector<double>(100, 0x1p50));
}

TEST(Group, ARankThatNeverComesEndsTheWait) {
  Ranks ranks(3);
  const auto gate = ranks.platform->make_gate();
  std::vector<std::unique_ptr<Buffer>> owned;
  std::vector<Group::Buffers> buffers;
  for (Device* device : ranks.devices) {
    owned.push_back(device->allocate(64));
    buffers.push_back({*owned.back(), *owned.back()});
  }
  gate->hold(*ranks.streams[1]);
  ranks.group->enqueue(Collective::all_reduce, buffers, 8, DataType::fp64, ranks.stream_pointers);
  const auto start = std::chrono::steady_clock::now();
  const Error error = test::error_of([&] { ranks.group->wait(ranks.stream_pointers, Duration(0.05)); });
  EXPECT_EQ(error.detail().outcome, Outcome::timed_out);
  EXPECT_NE(std::string(error.what()).find("within 0.05 s"), std::string::npos) << error.what();
  EXPECT_LT(Duration(std::chrono::steady_clock::now() - start).count(), 5.0);
  // The ranks that had come are free again, and say why.
  EXPECT_EQ(test::error_of([&] { ranks.streams[0]->wait(test::patience); }).detail().outcome, Outcome::timed_out);
  EXPECT_THROW(ranks.group->enqueue(Collective::all_reduce, buffers, 8, DataType::fp64, ranks.stream_pointers), Error);
}

template <class Call>
std::string refused(Outcome outcome, Call call) {
  const Error error = test::error_of(call);
  EXPECT_EQ(error.detail().outcome, outcome) << error.what();
  return error.what();
}

TEST(Group, WhatCannotBeDoneIsRefusedWithTheReason) {
  Ranks ranks(2);
  const auto a = ranks.devices[0]->allocate(64);
  const auto b = ranks.devices[1]->allocate(64);
  const std::vector<Group::Buffers> buffers = {{*a, *a}, {*b, *b}};
  const auto enqueue = [&](Collective collective, std::size_t count, DataType type) {
    return
        [&, collective, count, type] { ranks.group->enqueue(collective, buffers, count, type, ranks.stream_pointers); };
  };
  EXPECT_EQ(refused(Outcome::unsupported, enqueue(Collective::all_reduce, 8, DataType::fp8_e4m3)),
            "sums of fp8_e4m3 between cores are not supported; fp64, fp32, fp16, bf16, int32 and int8 are");
  EXPECT_EQ(refused(Outcome::unsupported, enqueue(Collective::all_to_all, 4, DataType::fp64)),
            "all_to_all cannot work in place: what is received would overwrite what is still to be sent");
  EXPECT_NE(refused(Outcome::failed, enqueue(Collective::all_reduce, 9, DataType::fp64)).find("needs 72 bytes to send"),
            std::string::npos);
  EXPECT_NE(refused(Outcome::failed, enqueue(Collective::all_gather, 8, DataType::fp64)).find("128 to receive"),
            std::string::npos);
  // Some processes may only wait; all of them cannot.
  struct NobodyHasRanks : World {
    int processes() const override { return 2; }
    std::vector<std::string> gather(const std::string&) override { return {"0", "0"}; }
  } world;
  EXPECT_EQ(refused(Outcome::failed, [&] { ranks.platform->make_group({}, world); }),
            "a group needs at least one rank");
}

TEST(Group, FactsNameAlgorithmAndTransport) {
  Ranks ranks(2);
  const Facts facts = ranks.group->facts();
  const auto text = [&](std::string_view wanted) -> std::string {
    for (const auto& [name, fact] : facts)
      if (name == wanted) return std::get<std::string>(fact);
    return {};
  };
  EXPECT_EQ(text("algorithm"), "direct");
  EXPECT_EQ(text("transport"), "shared memory");
}

}  // namespace
}  // namespace claimcheck::kernels

// The emulator by itself: threads that meet, accounting, and accesses a GPU would refuse.
#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/virtual_platform/emulator/grid.h"
#include "tests/virtual_platform/engine_test_support.h"

namespace virtual_platform::test {
namespace {

TEST(Kernels, ThreadsMeet) {
  Stream& stream = *make_stream(5);
  auto* values = memory_on<int>(5, 256 * sizeof(int));
  auto* sums = memory_on<int>(5, 8 * sizeof(int));
  std::vector<int> input(256);
  std::iota(input.begin(), input.end(), 0);
  copy(stream, values, input.data(), 256 * sizeof(int));
  ASSERT_EQ(synchronise(stream), 0);
  launch(stream, reverse_kernel, 1, 256, values);
  launch(stream, warp_sum_kernel, 1, 256, values, sums);
  std::reverse(input.begin(), input.end());
  EXPECT_EQ(contents(stream, values, 256), input);
  std::vector<int> expected;
  for (int warp = 0; warp < 8; ++warp)
    expected.push_back(std::accumulate(input.begin() + 32 * warp, input.begin() + 32 * (warp + 1), 0));
  EXPECT_EQ(contents(stream, sums, 8), expected);
  launch(stream, gather_kernel, 1, 32, values);
  const std::vector<int> gathered = contents(stream, values, 32);
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(gathered[static_cast<std::size_t>(lane)], (31 - lane) * (31 - lane));
}

TEST(Kernels, AccessesAreAccountedFor) {
  auto* from = memory_on<int>(5, 4096);
  auto* scratch = memory_on<int>(5, 4096);
  auto* to = memory_on<int>(5, 4096);
  int* addresses[] = {accessible(scratch), accessible(from + 64), accessible(to)};
  void* arguments[] = {&addresses[0], &addresses[1], &addresses[2]};
  const std::lock_guard lock(engine_mutex());
  const GridReport report = run_grid({&scratch_kernel, {1, 1, 1}, {128, 1, 1}, 5}, arguments);
  EXPECT_EQ(report.error, "");
  ASSERT_EQ(report.traffic.size(), 3U);
  for (const Traffic& traffic : report.traffic) {
    const Address begin = address_space().allocations[traffic.slot].begin;
    const bool is_scratch = begin == reinterpret_cast<Address>(scratch);
    const bool is_source = begin == reinterpret_cast<Address>(from);
    EXPECT_EQ(traffic.read_bytes, is_scratch || is_source ? 512U : 0U);
    EXPECT_EQ(traffic.written_bytes, is_source ? 0U : 512U);
    EXPECT_EQ(traffic.reads_own, is_scratch || begin == reinterpret_cast<Address>(to));
    EXPECT_EQ(traffic.read.begin, is_source ? 256U : 0U);
    EXPECT_EQ(traffic.read.end, is_source ? 768U : traffic.read_bytes);
  }
}

// What a GPU reports as an illegal address stays: every later call fails with it.
void expect_illegal(int device_index, const std::function<void(Stream&)>& enqueue_bad) {
  Stream& stream = *make_stream(device_index);
  enqueue_bad(stream);
  constexpr int illegal_address = 700;
  EXPECT_EQ(synchronise(stream), illegal_address);
  EXPECT_EQ(synchronise_device(device_index), illegal_address);
  EXPECT_EQ(enqueue(stream, Work{.kind = {}, .name = "mark"}), illegal_address);
  device(device_index).error = 0;  // for the next case
}

TEST(Kernels, IllegalAddressesAreFound) {
  auto* small = memory_on<double>(6, bytes);
  auto* large = memory_on<double>(6, 2 * bytes);
  expect_illegal(6, [&](Stream& stream) { launch(stream, scale_kernel, 1, 32, small, large, 1.0, count + 1); });
  expect_illegal(6, [&](Stream& stream) {
    scale(stream, large, small, 1);
    ASSERT_EQ(synchronise(stream), 0);
    const std::lock_guard lock(engine_mutex());
    forget_memory(range(small, bytes));
    release(small);
    launch(stream, scale_kernel, 16, 256, large, static_cast<const double*>(small), 1.0, count);
  });
  auto* peer = memory_on<double>(7, bytes);
  expect_illegal(6, [&](Stream& stream) { launch(stream, scale_kernel, 1, 32, large, peer, 1.0, count); });
  expect_illegal(6, [&](Stream& stream) { launch(stream, by_memory_kernel, 1, 1, large); });  // poison
  expect_illegal(6, [&](Stream& stream) {
    copy(stream, large, &large, sizeof large);
    launch(stream, by_memory_kernel, 1, 1, large);
  });
  expect_illegal(6, [&](Stream& stream) { launch(stream, half_barrier_kernel, 1, 32, large); });
  device(6).peers = 1U << 7U;
  Stream& stream = *make_stream(6);
  launch(stream, scale_kernel, 1, 32, large, peer, 1.0, count);
  EXPECT_EQ(synchronise(stream), 0);
}

}  // namespace
}  // namespace virtual_platform::test

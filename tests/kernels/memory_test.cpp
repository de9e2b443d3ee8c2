// The memory kernels against plain arithmetic: every instruction set this CPU runs, odd sizes, offsets, both store
// kinds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/host/memory_loops.h"
#include "kernels/normal.h"
#include "tests/kernels/support.h"

namespace claimcheck::kernels {
namespace {

constexpr double s = 0.375;
constexpr double untouched = -77.0;

std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(generator);
  return values;
}

double expected(MemoryKernel kernel, double a, double b) {
  switch (kernel) {
    case MemoryKernel::write:
      return s;
    case MemoryKernel::scale:
      return s * a;
    case MemoryKernel::add:
      return a + b;
    case MemoryKernel::triad:
      return a + s * b;
    default:
      return a;
  }
}

void call(const host::MemoryLoops& loops, MemoryKernel kernel, const double* a, const double* b, double* c,
          std::size_t count, bool bypass) {
  switch (kernel) {
    case MemoryKernel::write:
      return loops.write(s, c, count, bypass);
    case MemoryKernel::copy:
      return loops.copy(a, c, count, bypass);
    case MemoryKernel::scale:
      return loops.scale(a, s, c, count, bypass);
    case MemoryKernel::add:
      return loops.add(a, b, c, count, bypass);
    case MemoryKernel::triad:
      return loops.triad(a, b, s, c, count, bypass);
    case MemoryKernel::read:
      return;
  }
}

TEST(MemoryLoops, EverySetWritesExactlyItsElements) {
  const std::size_t room = 700;
  const std::vector<double> a = random_values(room, 1);
  const std::vector<double> b = random_values(room, 2);
  for (const host::MemoryLoops* loops : host::usable_memory_loops())
    for (const MemoryKernel kernel :
         {MemoryKernel::write, MemoryKernel::copy, MemoryKernel::scale, MemoryKernel::add, MemoryKernel::triad})
      for (const bool bypass : {false, true})
        for (const std::size_t count : {0, 1, 2, 7, 8, 31, 63, 64, 65, 127, 513, 650})
          for (const std::size_t first : {0, 2, 6, 10}) {
            SCOPED_TRACE(std::string(loops->isa) + " " + std::string(to_string(kernel)) + " " + std::to_string(count) +
                         " from " + std::to_string(first) + (bypass ? " bypassing" : ""));
            std::vector<double> c(room, untouched);
            call(*loops, kernel, a.data() + first, b.data() + first, c.data() + first, count, bypass);
            for (std::size_t i = 0; i < room; ++i) {
              const bool inside = i >= first && i < first + count;
              ASSERT_EQ(c[i], inside ? expected(kernel, a[i], b[i]) : untouched) << i;
            }
          }
}

TEST(MemoryLoops, CopiesBytesOfAnyAlignment) {
  std::vector<std::byte> source(3000);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i % 251);
  for (const bool bypass : {false, true})
    for (const std::size_t bytes : {0, 1, 7, 8, 9, 63, 64, 1000, 2049})
      for (const std::size_t from : {0, 3, 8})
        for (const std::size_t to : {0, 5, 16}) {
          std::vector<std::byte> target(source.size(), std::byte{255});
          host::copy_bytes(target.data() + to, source.data() + from, bytes, bypass);
          for (std::size_t i = 0; i < target.size(); ++i) {
            const bool inside = i >= to && i < to + bytes;
            ASSERT_EQ(target[i], inside ? source[from + i - to] : std::byte{255})
                << i << " of " << bytes << " from " << from << " to " << to;
          }
        }
}

TEST(MemoryLoops, EverySetSumsAllElementsOnce) {
  std::vector<double> a(1000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i + 1);  // sums are exact
  for (const host::MemoryLoops* loops : host::usable_memory_loops())
    for (const std::size_t count : {0, 1, 2, 15, 63, 64, 65, 129, 999, 1000})
      EXPECT_EQ(2 * loops->read(a.data(), count), static_cast<double>(count * (count + 1))) << loops->isa;
}

TEST(MemoryLoops, EverySetGivesTheSameRandomBits) {
  std::vector<double> plain(1002);
  for (std::size_t pair = 0; pair < plain.size() / 2; ++pair)
    normal_pair(normal_key(5), 40 + pair, plain[2 * pair], plain[2 * pair + 1]);
  for (const host::MemoryLoops* loops : host::usable_memory_loops()) {
    std::vector<double> values(plain.size());
    loops->normals(normal_key(5), 40, values.data(), values.size());
    EXPECT_EQ(values, plain) << loops->isa;
  }
}

class MemoryKernelTest : public testing::TestWithParam<int> {};

TEST_P(MemoryKernelTest, DeviceMatchesPlainLoopsOnSlices) {
  const auto platform = test::open_with(GetParam());
  Device& device = *platform->devices()[0];
  const auto stream = device.make_stream();
  for (const std::size_t count : {std::size_t{2}, std::size_t{1026}, std::size_t{100002}}) {
    const std::vector<double> a = random_values(count, 3);
    const std::vector<double> b = random_values(count, 4);
    const auto a_buffer = test::uploaded(device, a);
    const auto b_buffer = test::uploaded(device, b);
    for (const MemoryKernel kernel :
         {MemoryKernel::write, MemoryKernel::copy, MemoryKernel::scale, MemoryKernel::add, MemoryKernel::triad}) {
      SCOPED_TRACE(std::string(to_string(kernel)) + " " + std::to_string(count));
      const auto c_buffer = test::uploaded(device, std::vector<double>(count + 4, untouched));
      device.memory(*stream, kernel, *a_buffer, *b_buffer, Slice(*c_buffer, 16, count * 8), s);
      stream->wait(test::patience);
      const auto c = test::downloaded<double>(device, *c_buffer);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(c[i + 2], expected(kernel, a[i], b[i])) << i;
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}, count + 2, count + 3}) EXPECT_EQ(c[i], untouched);
    }
    double sum = 0;
    for (const double x : a) sum += x;
    const auto c_buffer = test::uploaded(device, std::vector<double>{untouched, untouched});
    device.memory(*stream, MemoryKernel::read, *a_buffer, {}, *c_buffer, 0);
    stream->wait(test::patience);
    EXPECT_NEAR(test::downloaded<double>(device, *c_buffer)[0], sum, 1e-9 * static_cast<double>(count));
  }
}

TEST_P(MemoryKernelTest, ArraysLargerThanTheCachesAreComputedTheSame) {
  const auto platform = test::open_with(GetParam());
  Device& device = *platform->devices()[0];
  const std::size_t cache = device.facts().last_level_cache_bytes;
  if (cache > std::size_t{256} << 20) GTEST_SKIP() << "arrays past a cache of " << cache << " bytes take too long here";
  const std::size_t bytes = (cache / 3 / 16 + 1) * 16;
  const auto a = device.allocate(bytes);
  const auto b = device.allocate(bytes);
  const auto c = device.allocate(bytes);
  const auto stream = device.make_stream();
  device.fill(*stream, *a, DataType::fp64, Pattern::normal, 1);
  device.fill(*stream, *b, DataType::fp64, Pattern::normal, 2);
  device.memory(*stream, MemoryKernel::triad, *a, *b, *c, s);
  stream->wait(test::patience);
  const auto x = test::downloaded<double>(device, *a);
  const auto y = test::downloaded<double>(device, *b);
  const auto z = test::downloaded<double>(device, *c);
  for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], x[i] + s * y[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Threads, MemoryKernelTest, testing::Values(1, 2));

TEST(Memory, SizesThatDoNotFitAreRefusedInWords) {
  const auto platform = open_platform({});
  Device& device = *platform->devices()[0];
  const auto stream = device.make_stream();
  const auto large = device.allocate(64);
  const auto small = device.allocate(48);
  const Error differ = test::error_of([&] { device.memory(*stream, MemoryKernel::triad, *large, *small, *large, 1); });
  EXPECT_STREQ(differ.what(), "arrays a and b differ in size: 64 and 48 bytes");
  EXPECT_THROW(device.memory(*stream, MemoryKernel::copy, *large, {}, *small, 1), Error);
  EXPECT_THROW(device.memory(*stream, MemoryKernel::copy, Slice(*large, 32, 64), {}, *large, 1), Error);
  EXPECT_THROW(device.memory(*stream, MemoryKernel::copy, Slice(*large, 0, 24), {}, Slice(*large, 32, 24), 1), Error);
  EXPECT_THROW(device.memory(*stream, MemoryKernel::copy, {}, {}, *large, 1), Error);
  EXPECT_THROW(device.upload(*stream, *large, {}), Error);
}

TEST(Memory, ComparesWordByWord) {
  const auto platform = test::open_with(2);
  Device& device = *platform->devices()[0];
  std::vector<std::uint64_t> words(100'000);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9e3779b97f4a7c15U;
  const auto one = test::uploaded(device, words);
  // One bit each of the first, a middle and the last word.
  for (const std::size_t at : {std::size_t{0}, std::size_t{61'234}, words.size() - 1})
    words[at] ^= std::uint64_t{1} << at % 64;
  const auto other = test::uploaded(device, words);
  const auto count = device.allocate(16);
  const auto stream = device.make_stream();
  const auto differ = [&](Slice a, Slice b) {
    device.compare(*stream, a, b, *count);
    stream->wait(test::patience);
    return test::downloaded<double>(device, Slice(*count, 0, 8))[0];
  };
  EXPECT_EQ(differ(*one, *other), 3);
  EXPECT_EQ(differ(*one, *one), 0);
  EXPECT_EQ(differ(Slice(*one, 16, 1600), Slice(*other, 16, 1600)), 0);
  EXPECT_EQ(differ(Slice(*one, 0, 16), Slice(*other, 0, 16)), 1);
  EXPECT_THROW(device.compare(*stream, Slice(*one, 0, 16), Slice(*other, 0, 32), *count), Error);
  EXPECT_THROW(device.compare(*stream, Slice(*one, 0, 24), Slice(*other, 0, 24), *count), Error);
}

TEST(Memory, CopiesBetweenRanksAndPlacements) {
  const auto platform = open_platform({});
  Device& first = *platform->ranks().front();
  Device& last = *platform->ranks().back();
  const std::vector<double> values = random_values(5001, 9);
  const auto source = test::uploaded(first, values);
  const auto target = last.allocate(values.size() * 8, Placement::pinned_host);
  EXPECT_EQ(target->placement(), Placement::pinned_host);
  EXPECT_EQ(platform->access(first, last), Access::direct);
  for (const CopyEngine engine : {CopyEngine::kernel, CopyEngine::copy_engine}) {
    const auto stream = last.make_stream();
    last.fill(*stream, *target, DataType::fp64, Pattern::zeros, 0);
    last.copy(*stream, *target, *source, engine);
    stream->wait(test::patience);
    EXPECT_EQ(test::downloaded<double>(last, *target), values);
  }
}

TEST(Memory, BuffersAreAlignedAndAHugeOneIsRefusedWithBothSizes) {
  const auto platform = open_platform({});
  Device& device = *platform->devices()[0];
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    const auto buffer = device.allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->address()) % 512, 0U);
    EXPECT_EQ(buffer->size_bytes(), size);
  }
  const Error error = test::error_of([&] { device.allocate(std::size_t{1} << 50); });
  EXPECT_EQ(error.detail().outcome, Outcome::failed);
  EXPECT_NE(std::string(error.what()).find("1125899906842624 bytes of memory were asked for and "), std::string::npos)
      << error.what();
  EXPECT_NE(std::string(error.what()).find(" bytes are free"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace claimcheck::kernels

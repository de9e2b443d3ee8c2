// Matrix products against three plain loops, and the reasons for types that cannot be multiplied here.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/support.h"

namespace claimcheck::kernels {
namespace {

constexpr double s_pad = -1234.5;

// C[j * m + i] = sum over l of A[i * k + l] B[j * k + l], in long double.
void expect_product(const GemmShape& shape, const std::vector<double>& a, const std::vector<double>& b,
                    const std::vector<double>& c, double roundoff) {
  for (std::int64_t j = 0; j < shape.n; ++j)
    for (std::int64_t i = 0; i < shape.m; ++i) {
      long double sum = 0;
      long double magnitude = 0;
      for (std::int64_t l = 0; l < shape.k; ++l) {
        const long double product = static_cast<long double>(a[static_cast<std::size_t>(i * shape.k + l)]) *
                                    b[static_cast<std::size_t>(j * shape.k + l)];
        sum += product;
        magnitude += std::fabs(product);
      }
      // The usual bound of a dot product in any order: k u sum |a b| (Higham, Accuracy and Stability, section 3.1).
      const auto bound = static_cast<double>(magnitude) * roundoff * static_cast<double>(shape.k + 1);
      ASSERT_NEAR(c[static_cast<std::size_t>(j * shape.m + i)], static_cast<double>(sum), bound) << i << ", " << j;
    }
}

class GemmTest : public testing::TestWithParam<DataType> {};

TEST_P(GemmTest, MatchesThreePlainLoops) {
  const DataType type = GetParam();
  const auto platform = open_platform({});
  for (Device* device : {platform->devices()[0], platform->ranks().back()})
    for (const GemmShape& shape :
         {GemmShape{1, 1, 1}, GemmShape{3, 5, 7}, GemmShape{17, 1, 33}, GemmShape{1, 19, 4}, GemmShape{65, 130, 257}}) {
      SCOPED_TRACE(std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k));
      const auto bytes = [&](std::int64_t rows, std::int64_t columns) {
        return storage_bytes(type, static_cast<std::size_t>(rows * columns));
      };
      const auto a = device->allocate(bytes(shape.m, shape.k));
      const auto b = device->allocate(bytes(shape.k, shape.n));
      const auto c = device->allocate(bytes(shape.m, shape.n) + storage_bytes(type, 1));
      const auto stream = device->make_stream();
      device->fill(*stream, *a, type, Pattern::normal, 1);
      device->fill(*stream, *b, type, Pattern::normal, 2);
      const auto gemm = device->make_gemm(type, shape);
      EXPECT_EQ(gemm->output_type(), type);
      std::vector<std::byte> pad(c->size_bytes());
      encode(type, std::vector<double>(pad.size() / storage_bytes(type, 1), s_pad), pad);
      device->upload(*stream, *c, pad);
      gemm->enqueue(*stream, *a, *b, *c);
      stream->wait(test::patience);
      const auto values = [&](Buffer& buffer) {
        return decode(type, test::downloaded<std::byte>(*device, buffer), buffer.size_bytes() / storage_bytes(type, 1));
      };
      const std::vector<double> product = values(*c);
      expect_product(shape, values(*a), values(*b), product, unit_roundoff(type));
      EXPECT_EQ(product.back(), s_pad);  // one element past C
    }
}

INSTANTIATE_TEST_SUITE_P(Types, GemmTest, testing::Values(DataType::fp64, DataType::fp32),
                         [](const auto& row) { return std::string(to_string(row.param)); });

TEST(Gemm, RanksMultiplySideBySide) {
  const auto platform = open_platform({});
  const GemmShape shape{96, 96, 96};
  const std::size_t bytes = std::size_t{96} * 96 * 8;
  std::vector<std::vector<double>> results;
  struct Rank {
    std::unique_ptr<Buffer> a;
    std::unique_ptr<Buffer> b;
    std::unique_ptr<Buffer> c;
    std::unique_ptr<Gemm> gemm;
    std::unique_ptr<Stream> stream;
  };
  std::vector<Rank> ranks;
  const auto gate = platform->make_gate();
  for (Device* device : platform->ranks()) {
    Rank rank{device->allocate(bytes), device->allocate(bytes), device->allocate(bytes),
              device->make_gemm(DataType::fp64, shape), device->make_stream()};
    device->fill(*rank.stream, *rank.a, DataType::fp64, Pattern::normal, 1);
    device->fill(*rank.stream, *rank.b, DataType::fp64, Pattern::normal, 2);
    gate->hold(*rank.stream);
    for (int i = 0; i < 20; ++i) rank.gemm->enqueue(*rank.stream, *rank.a, *rank.b, *rank.c);
    ranks.push_back(std::move(rank));
  }
  gate->open();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].stream->wait(test::patience);
    results.push_back(test::downloaded<double>(*platform->ranks()[i], *ranks[i].c));
    EXPECT_EQ(results[i], results[0]);
  }
  expect_product(shape, test::downloaded<double>(*platform->ranks()[0], *ranks[0].a),
                 test::downloaded<double>(*platform->ranks()[0], *ranks[0].b), results[0], 0x1p-53);
}

TEST(Gemm, OneThreadPerCoreOfTheDevice) {
  const auto threads = [](const Gemm& gemm) {
    for (const auto& [name, fact] : gemm.facts())
      if (name == "threads") return std::get<std::int64_t>(fact);
    return std::int64_t{-1};
  };
  const auto one = test::open_with(1);
  EXPECT_EQ(threads(*one->devices()[0]->make_gemm(DataType::fp32, {8, 8, 8})), 1);
  const auto all = open_platform({});
  EXPECT_EQ(threads(*all->devices()[0]->make_gemm(DataType::fp32, {8, 8, 8})),
            static_cast<std::int64_t>(all->ranks().size()));
  EXPECT_EQ(threads(*all->ranks()[0]->make_gemm(DataType::fp32, {8, 8, 8})), 1);
}

TEST(Gemm, TypesThatCannotBeMultipliedSayWhy) {
  const auto platform = open_platform({});
  Device& device = *platform->devices()[0];
  for (const DataType type : {DataType::tf32, DataType::fp16, DataType::bf16, DataType::fp8_e4m3, DataType::fp8_e5m2,
                              DataType::fp4, DataType::int8}) {
    const Error error = test::error_of([&] { device.make_gemm(type, {64, 64, 64}); });
    EXPECT_EQ(error.detail().outcome, Outcome::unsupported);
    EXPECT_NE(std::string(error.what()).find("fp64"), std::string::npos) << error.what();
  }
}

TEST(Gemm, WrongSizesAreRefused) {
  const auto platform = open_platform({});
  Device& device = *platform->devices()[0];
  EXPECT_THROW(device.make_gemm(DataType::fp64, {0, 1, 1}), Error);
  EXPECT_THROW(device.make_gemm(DataType::fp64, {1, std::int64_t{1} << 31, 1}), Error);
  const auto gemm = device.make_gemm(DataType::fp64, {4, 4, 4});
  const auto stream = device.make_stream();
  const auto right = device.allocate(128);
  const auto small = device.allocate(120);
  const Error error = test::error_of([&] { gemm->enqueue(*stream, *right, *small, *right); });
  EXPECT_STREQ(error.what(), "matrix B needs 128 bytes and its slice has 120");
}

}  // namespace
}  // namespace claimcheck::kernels

// Encoding and decoding of every data type. Bit patterns by hand from IEEE 754 and the OCP 8-bit and MX specifications.
#include "kernels/data_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/float_format.h"

namespace claimcheck::kernels {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Bits>
double decoded(DataType type, Bits bits) {
  return decode(type, std::as_bytes(std::span(&bits, 1)), 1).at(0);
}

template <class Bits>
Bits encoded(DataType type, double value) {
  Bits bits{};
  encode(type, std::span(&value, 1), std::as_writable_bytes(std::span(&bits, 1)));
  return bits;
}

struct Pattern {
  DataType type;
  std::uint32_t bits;
  double value;
};

const std::vector<Pattern> patterns = {
    {DataType::fp16, 0x3c00, 1.0},
    {DataType::fp16, 0xc000, -2.0},
    {DataType::fp16, 0x7bff, 65504.0},
    {DataType::fp16, 0x0001, 0x1p-24},
    {DataType::fp16, 0x0400, 0x1p-14},
    {DataType::fp16, 0x3555, 0.333251953125},
    {DataType::fp16, 0x7c00, infinity},
    {DataType::fp16, 0xfc00, -infinity},
    {DataType::bf16, 0x3f80, 1.0},
    {DataType::bf16, 0xc040, -3.0},
    {DataType::bf16, 0x4049, 3.140625},
    {DataType::bf16, 0x0001, 0x1p-133},
    {DataType::bf16, 0x7f7f, 0x1.fep127},
    {DataType::bf16, 0xff80, -infinity},
    {DataType::fp8_e4m3, 0x38, 1.0},
    {DataType::fp8_e4m3, 0x7e, 448.0},
    {DataType::fp8_e4m3, 0x01, 0x1p-9},
    {DataType::fp8_e4m3, 0x08, 0x1p-6},
    {DataType::fp8_e4m3, 0xb9, -1.125},
    {DataType::fp8_e5m2, 0x3c, 1.0},
    {DataType::fp8_e5m2, 0x7b, 57344.0},
    {DataType::fp8_e5m2, 0x01, 0x1p-16},
    {DataType::fp8_e5m2, 0xbe, -1.5},
    {DataType::fp8_e5m2, 0x7c, infinity},
    {DataType::fp32, 0x40490fdb, 3.1415927410125732},
    {DataType::tf32, 0x40490000, 3.140625},
    {DataType::int8, 0x80, -128.0},
    {DataType::int8, 0x7f, 127.0},
    {DataType::int32, 0xffffffff, -1.0},
    {DataType::int32, 0x80000000, -2147483648.0},
};

TEST(DataType, DecodesAndEncodesKnownBitPatterns) {
  for (const Pattern& pattern : patterns) {
    SCOPED_TRACE(std::string(to_string(pattern.type)) + " " + std::to_string(pattern.bits));
    EXPECT_EQ(decoded(pattern.type, pattern.bits), pattern.value);
    EXPECT_EQ(encoded<std::uint32_t>(pattern.type, pattern.value), pattern.bits);
  }
  EXPECT_EQ(decoded(DataType::fp64, 0x400921fb54442d18U), 3.141592653589793);
}

TEST(DataType, DecodesAllSixteenFp4ValuesLowNibbleFirst) {
  const std::vector<double> magnitudes = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (unsigned low = 0; low < 16; ++low) {
    const std::uint8_t both[] = {static_cast<std::uint8_t>(low | ((15 - low) << 4))};
    const auto values = decode(DataType::fp4, std::as_bytes(std::span(both)), 2);
    EXPECT_EQ(values[0], (low < 8 ? 1 : -1) * magnitudes[low % 8]);
    EXPECT_EQ(values[1], (low < 8 ? -1 : 1) * magnitudes[7 - low % 8]);
    std::uint8_t again[1];
    encode(DataType::fp4, values, std::as_writable_bytes(std::span(again)));
    EXPECT_EQ(again[0], both[0]);
  }
}

TEST(DataType, AnOddCountOfFp4ValuesLeavesTheHighNibbleZero) {
  const std::vector<double> values = {6, -0.5, 1.5};
  std::uint8_t stored[2];
  encode(DataType::fp4, values, std::as_writable_bytes(std::span(stored)));
  EXPECT_EQ(stored[0], 0x97);
  EXPECT_EQ(stored[1], 0x03);
  EXPECT_EQ(decode(DataType::fp4, std::as_bytes(std::span(stored)), 3), values);
}

TEST(DataType, NotANumberStaysOneWhereTheTypeHasIt) {
  EXPECT_TRUE(std::isnan(decoded<std::uint16_t>(DataType::fp16, 0x7e00)));
  EXPECT_TRUE(std::isnan(decoded<std::uint16_t>(DataType::bf16, 0xffc0)));
  EXPECT_TRUE(std::isnan(decoded<std::uint8_t>(DataType::fp8_e4m3, 0x7f)));
  EXPECT_TRUE(std::isnan(decoded<std::uint8_t>(DataType::fp8_e4m3, 0xff)));
  EXPECT_TRUE(std::isnan(decoded<std::uint8_t>(DataType::fp8_e5m2, 0x7d)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16, DataType::bf16,
                              DataType::fp8_e4m3, DataType::fp8_e5m2})
    EXPECT_TRUE(std::isnan(decoded(type, encoded<std::uint64_t>(type, nan)))) << to_string(type);
  EXPECT_EQ(encoded<std::int8_t>(DataType::int8, nan), 0);
}

TEST(DataType, EncodingRoundsToNearestTiesToEven) {
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 1 + 0x1p-11), 0x3c00);            // tie, down to even
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 1 + 3 * 0x1p-11), 0x3c02);        // tie, up to even
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);  // not through fp32: no tie
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 0x1p-25), 0x0000);                // half the smallest
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 0x1.8p-25), 0x0001);
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 0x1.ffcp-15 + 0x1p-30), 0x0400);  // carries into the normal numbers
  EXPECT_EQ(encoded<std::uint16_t>(DataType::bf16, 1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(encoded<std::uint16_t>(DataType::bf16, 1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp8_e4m3, 18.0), 0x59);  // 17 and 19 do not exist: 16, 18, 20
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp8_e4m3, 17.0), 0x58);
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp8_e4m3, 19.0), 0x5a);
  EXPECT_EQ(encoded<std::int8_t>(DataType::int8, 2.5), 2);
  EXPECT_EQ(encoded<std::int8_t>(DataType::int8, -3.5), -4);
  EXPECT_EQ(encoded<std::uint32_t>(DataType::tf32, 1 + 0x1p-11), 0x3f800000U);
  EXPECT_EQ(encoded<std::uint32_t>(DataType::tf32, 1 + 3 * 0x1p-11), 0x3f804000U);
}

TEST(DataType, PastTheRangeIsInfinityOrTheLargestValue) {
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 65519.0), 0x7bff);
  EXPECT_EQ(encoded<std::uint16_t>(DataType::fp16, 65520.0), 0x7c00);
  EXPECT_EQ(encoded<std::uint16_t>(DataType::bf16, -1e39), 0xff80);
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp8_e4m3, 1e4), 0x7e);
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp8_e4m3, -infinity), 0xfe);
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp8_e5m2, -1e6), 0xfc);
  EXPECT_EQ(encoded<std::uint8_t>(DataType::fp4, 100.0), 0x07);
  EXPECT_EQ(encoded<std::int8_t>(DataType::int8, -1000.0), -128);
  EXPECT_EQ(encoded<std::int32_t>(DataType::int32, 1e12), 2147483647);
}

// Every value of a format survives, and its neighbours' midpoint goes to the even one of both.
template <FloatFormat format>
void expect_round_trip(const char* name) {
  for (std::uint32_t bits = 0; bits < format.largest(); ++bits) {
    const double value = decode_bits<format>(bits);
    const double next = decode_bits<format>(bits + 1);
    ASSERT_LT(value, next) << name << " " << bits;
    ASSERT_EQ(encode_bits<format>(value), bits) << name;
    ASSERT_EQ(encode_bits<format>(-value), bits | format.sign_bit()) << name;
    const double midpoint = value + (next - value) / 2;
    ASSERT_EQ(encode_bits<format>(midpoint), bits % 2 == 0 ? bits : bits + 1) << name << " " << bits;
    ASSERT_EQ(encode_bits<format>(std::nextafter(midpoint, infinity)), bits + 1) << name << " " << bits;
    ASSERT_EQ(encode_bits<format>(std::nextafter(midpoint, 0.0)), bits) << name << " " << bits;
  }
}

TEST(DataType, EveryValueOfEverySmallFormatSurvivesARoundTrip) {
  expect_round_trip<format_fp16>("fp16");
  expect_round_trip<format_bf16>("bf16");
  expect_round_trip<format_fp8_e4m3>("fp8_e4m3");
  expect_round_trip<format_fp8_e5m2>("fp8_e5m2");
  expect_round_trip<format_fp4_e2m1>("fp4");
  expect_round_trip<format_tf32>("tf32");
}

TEST(DataType, StorageSizesAndRoundOff) {
  EXPECT_EQ(storage_bytes(DataType::fp64, 3), 24U);
  EXPECT_EQ(storage_bytes(DataType::tf32, 3), 12U);
  EXPECT_EQ(storage_bytes(DataType::bf16, 3), 6U);
  EXPECT_EQ(storage_bytes(DataType::fp8_e5m2, 3), 3U);
  EXPECT_EQ(storage_bytes(DataType::fp4, 3), 2U);
  EXPECT_EQ(storage_bytes(DataType::int32, 0), 0U);
  EXPECT_EQ(unit_roundoff(DataType::fp32), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(DataType::fp64), std::numeric_limits<double>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(DataType::bf16), 0.00390625);
  EXPECT_EQ(unit_roundoff(DataType::fp16), 0.00048828125);
  EXPECT_EQ(unit_roundoff(DataType::int8), 0.0);
}

}  // namespace
}  // namespace claimcheck::kernels

#include "kernels/data_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/float_format.h"

namespace claimcheck::kernels {

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::fp64:
      return "fp64";
    case DataType::fp32:
      return "fp32";
    case DataType::tf32:
      return "tf32";
    case DataType::fp16:
      return "fp16";
    case DataType::bf16:
      return "bf16";
    case DataType::fp8_e4m3:
      return "fp8_e4m3";
    case DataType::fp8_e5m2:
      return "fp8_e5m2";
    case DataType::fp4:
      return "fp4";
    case DataType::int8:
      return "int8";
    case DataType::int32:
      return "int32";
  }
  return "unknown";
}

std::size_t storage_bytes(DataType type, std::size_t count) {
  switch (type) {
    case DataType::fp64:
      return count * 8;
    case DataType::fp32:
    case DataType::tf32:
    case DataType::int32:
      return count * 4;
    case DataType::fp16:
    case DataType::bf16:
      return count * 2;
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
    case DataType::int8:
      return count;
    case DataType::fp4:
      return count / 2 + count % 2;
  }
  return 0;
}

double unit_roundoff(DataType type) {
  switch (type) {
    case DataType::fp64:
      return 0x1p-53;
    case DataType::fp32:
      return 0x1p-24;
    case DataType::tf32:
    case DataType::fp16:
      return 0x1p-11;
    case DataType::bf16:
      return 0x1p-8;
    case DataType::fp8_e4m3:
      return 0x1p-4;
    case DataType::fp8_e5m2:
      return 0x1p-3;
    case DataType::fp4:
      return 0x1p-2;
    case DataType::int8:
    case DataType::int32:
      return 0;
  }
  return 0;
}

namespace {

template <class Stored, class Convert>
void decode_each(std::span<const std::byte> stored, std::vector<double>& values, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored bits;
    std::memcpy(&bits, stored.data() + i * sizeof bits, sizeof bits);
    values[i] = convert(bits);
  }
}

template <class Stored, class Convert>
void encode_each(std::span<const double> values, std::span<std::byte> stored, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored bits = convert(values[i]);
    std::memcpy(stored.data() + i * sizeof bits, &bits, sizeof bits);
  }
}

template <class Integer>
Integer to_integer(double value) {
  if (std::isnan(value)) return 0;
  constexpr double lowest = std::numeric_limits<Integer>::min();
  constexpr double highest = std::numeric_limits<Integer>::max();
  return static_cast<Integer>(std::clamp(std::nearbyint(value), lowest, highest));
}

void decode_fp4(std::span<const std::byte> stored, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto pair = std::to_integer<std::uint32_t>(stored[i / 2]);
    values[i] = decode_bits<format_fp4_e2m1>(i % 2 == 0 ? pair & 0xfU : pair >> 4);
  }
}

void encode_fp4(std::span<const double> values, std::span<std::byte> stored) {
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const std::uint32_t low = encode_bits<format_fp4_e2m1>(values[i]);
    const std::uint32_t high = i + 1 < values.size() ? encode_bits<format_fp4_e2m1>(values[i + 1]) : 0;
    stored[i / 2] = static_cast<std::byte>(low | (high << 4));
  }
}

}  // namespace

std::vector<double> decode(DataType type, std::span<const std::byte> stored, std::size_t count) {
  std::vector<double> values(count);
  switch (type) {
    case DataType::fp64:
      decode_each<double>(stored, values, [](double x) { return x; });
      break;
    case DataType::fp32:
    case DataType::tf32:
      decode_each<float>(stored, values, [](float x) { return static_cast<double>(x); });
      break;
    case DataType::fp16:
      decode_each<std::uint16_t>(stored, values, decode_bits<format_fp16>);
      break;
    case DataType::bf16:
      decode_each<std::uint16_t>(stored, values, decode_bits<format_bf16>);
      break;
    case DataType::fp8_e4m3:
      decode_each<std::uint8_t>(stored, values, decode_bits<format_fp8_e4m3>);
      break;
    case DataType::fp8_e5m2:
      decode_each<std::uint8_t>(stored, values, decode_bits<format_fp8_e5m2>);
      break;
    case DataType::fp4:
      decode_fp4(stored, values);
      break;
    case DataType::int8:
      decode_each<std::int8_t>(stored, values, [](std::int8_t x) { return static_cast<double>(x); });
      break;
    case DataType::int32:
      decode_each<std::int32_t>(stored, values, [](std::int32_t x) { return static_cast<double>(x); });
      break;
  }
  return values;
}

void encode(DataType type, std::span<const double> values, std::span<std::byte> stored) {
  switch (type) {
    case DataType::fp64:
      return encode_each<double>(values, stored, [](double x) { return x; });
    case DataType::fp32:
      return encode_each<float>(values, stored, [](double x) { return static_cast<float>(x); });
    case DataType::tf32:
      return encode_each<std::uint32_t>(values, stored, [](double x) { return encode_bits<format_tf32>(x) << 13; });
    case DataType::fp16:
      return encode_each<std::uint16_t>(
          values, stored, [](double x) { return static_cast<std::uint16_t>(encode_bits<format_fp16>(x)); });
    case DataType::bf16:
      return encode_each<std::uint16_t>(
          values, stored, [](double x) { return static_cast<std::uint16_t>(encode_bits<format_bf16>(x)); });
    case DataType::fp8_e4m3:
      return encode_each<std::uint8_t>(
          values, stored, [](double x) { return static_cast<std::uint8_t>(encode_bits<format_fp8_e4m3>(x)); });
    case DataType::fp8_e5m2:
      return encode_each<std::uint8_t>(
          values, stored, [](double x) { return static_cast<std::uint8_t>(encode_bits<format_fp8_e5m2>(x)); });
    case DataType::fp4:
      return encode_fp4(values, stored);
    case DataType::int8:
      return encode_each<std::int8_t>(values, stored, to_integer<std::int8_t>);
    case DataType::int32:
      return encode_each<std::int32_t>(values, stored, to_integer<std::int32_t>);
  }
}

}  // namespace claimcheck::kernels
